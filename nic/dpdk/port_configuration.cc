// What a port is told before it starts, and what is found out about it then.
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "dataplane/base/memory_fault_guard.h"
#include "nic/dpdk/device_preference.h"
#include "nic/dpdk/dpdk_address.h"
#include "nic/dpdk/dpdk_environment.h"
#include "nic/dpdk/ethernet_port.h"
#include "nic/dpdk/network_interface.h"
#include "nic/dpdk/pci_adapters.h"

namespace openlapi::dpdk {
namespace {

constexpr std::uint32_t kUsualMtu = 1500;
constexpr std::uint32_t kUsualFrame = 1518;    // bytes; what drivers report that do not know better
constexpr std::uint32_t kFrameOverhead = 22;   // bytes: header, a VLAN's tag, checksum
constexpr std::uint32_t kSpareRoom = 728;      // bytes; af_packet wants room for all that its ring has for a frame
constexpr std::uint32_t kRoomOfXdp = 3712;     // bytes; an af_xdp buffer, its descriptor included, fits into a page
constexpr std::uint32_t kBuffersOfXdp = 8192;  // af_xdp takes 4096 at once
constexpr std::uint32_t kBuffersInFlight = 160;
constexpr std::uint64_t kSends = RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
constexpr std::uint64_t kReceives = RTE_ETH_RX_OFFLOAD_UDP_CKSUM;

std::uint32_t room_for(const std::string& driver, std::uint32_t mtu) {
  if (begins_with_any(driver, {"net_af_xdp"})) return kRoomOfXdp;
  return (RTE_PKTMBUF_HEADROOM + kSpareRoom + std::max(mtu, kUsualMtu) + 63) / 64 * 64;
}

std::uint32_t receive_buffers(const std::string& driver, const PortPreference& preference) {
  const std::uint32_t usual = preference.receive_descriptors + preference.held + kBuffersInFlight;
  return begins_with_any(driver, {"net_af_xdp"}) ? kBuffersOfXdp + usual : usual;
}

rte_mempool* make_pool(const std::string& name, std::uint32_t buffers, std::uint32_t room, int node) {
  // Buffers of former ports of this name are all given back.
  if (rte_mempool* old = rte_mempool_lookup(name.c_str())) {
    if (old->size == buffers && rte_pktmbuf_data_room_size(old) == room) return old;
    rte_mempool_free(old);
  }
  // Last in, first out: a quiet port works on few buffers, which stay in the processor's cache. Buffers are taken in
  // bursts, by one thread at a time, and that thread may be any: EAL's caches for its own threads are of no use.
  const auto make = [&](int where) {
    return rte_pktmbuf_pool_create_by_ops(name.c_str(), buffers, 0, 0, static_cast<std::uint16_t>(room), where,
                                          "stack");
  };
  rte_mempool* pool = make(node);
  return pool == nullptr && node != SOCKET_ID_ANY ? make(SOCKET_ID_ANY) : pool;
}

// Ports that had this number and were given back: buffers of theirs may still be held.
std::uint32_t& given_back_with(std::uint16_t number) {
  static std::array<std::uint32_t, RTE_MAX_ETHPORTS> counts;
  return counts[number];
}

// A driver that has no such function has been told when it was configured.
bool refuses_mtu(std::uint16_t port, std::uint32_t mtu) {
  const int error = rte_eth_dev_set_mtu(port, static_cast<std::uint16_t>(mtu));
  return error != 0 && error != -ENOTSUP;
}

}  // namespace

std::uint64_t EthernetPort::memory_for(const PortPreference& preference) {
  const std::string driver(name_of(preference.device));
  const std::uint64_t buffer = room_for(driver, preference.mtu) + 256;  // descriptor and header included
  const std::uint64_t sends = preference.send_descriptors + kBuffersInFlight;
  return (receive_buffers(driver, preference) + sends) * buffer + (4 << 20);
}

PortFacts EthernetPort::facts() const {
  return {.device = made_with(),
          .driver = driver_,
          .kernel_interface = kernel_interface_,
          .isolated = isolated_,
          .given = is_given(name_, list_pci_adapters(kPciDevices))};
}

// All but what flow rules will name, if the kernel uses the port, which otherwise brings all: nobody else is there to
// miss anything, and rules bring no answers to ARP. False: it cannot be told so.
bool EthernetPort::leave_to_kernel(std::string& reason) {
  std::string why;
  isolated_ = isolate(id_, true, why);
  shared_ = is_shared(facts());
  if (!shared_ && isolated_) isolated_ = !isolate(id_, false, why);
  if (isolated_ == shared_) return true;
  reason = shared_ ? refusal(facts(), "cannot be told to leave to the kernel what is not for this task", why)
                   : described(facts()) + " cannot be told again to bring all that arrives: " + why;
  return false;
}

bool EthernetPort::make_pools(const PortPreference& preference, std::string& reason) {
  // af_packet wants room for all that a frame of its ring may hold.
  const std::string ring = argument_of(made_with(), "framesz");
  const std::uint32_t frame = static_cast<std::uint32_t>(std::min(std::strtoul(ring.c_str(), nullptr, 10), 65535ul));
  const std::uint32_t room = room_for(driver_, std::max(mtu_, std::min(frame, kLargestMtu)));
  const std::uint32_t buffers = receive_buffers(driver_, preference);
  const std::uint32_t sends = preference.send_descriptors + kBuffersInFlight;
  const std::string number = std::to_string(id_) + "_" + std::to_string(given_back_with(id_));
  receive_pool_ = make_pool("openlapi_in_" + number, buffers, room, node_);
  send_pool_ = receive_pool_ == nullptr ? nullptr : make_pool("openlapi_out_" + number, sends, room, node_);
  if (send_pool_ != nullptr) return true;
  reason = "DPDK port " + name_ + ": no memory for " + std::to_string(buffers + sends) + " packets of " +
           std::to_string(room) + " bytes: " + rte_strerror(rte_errno) + "; " + std::to_string(free_memory() >> 10) +
           " KiB are free in DPDK's memory, which lies in " + (has_huge_pages() ? "huge" : "ordinary") +
           " pages: make more with vm.nr_hugepages or the EAL argument -m MIB";
  return false;
}

void EthernetPort::keep_pools() const { ++given_back_with(id_); }

// Once: the task may ask for these while the port is set up anew by another thread.
PortFault EthernetPort::find_out(std::string& reason) {
  rte_eth_dev_info info{};
  if (int error = rte_eth_dev_info_get(id_, &info); error != 0) {
    reason = described("DPDK tells nothing of port", name_, error);
    return PortFault::unusable;
  }
  driver_ = info.driver_name == nullptr ? "" : info.driver_name;
  in_memory_ = begins_with_any(driver_, {"net_memif", "net_vhost", "net_virtio_user", "net_ring"});
  unmaps_ = begins_with_any(driver_, {"net_memif"});
  if (unmaps_) catch_memory_faults();
  kernel_interface_ = interface_name(info.if_index);
  // net_tap tells of the one that it has made, not of the one whose frames it takes.
  if (const std::string remote = argument_of(made_with(), "remote"); !remote.empty()) kernel_interface_ = remote;
  sums_ = (info.tx_offload_capa & kSends) != 0 && (info.rx_offload_capa & kReceives) != 0;
  return PortFault::none;
}

PortFault EthernetPort::configure(const PortPreference& preference, std::string& reason) {
  rte_eth_dev_info info{};
  rte_eth_conf wanted{};
  if (int error = rte_eth_dev_info_get(id_, &info); error != 0) {
    reason = described("DPDK tells nothing of port", name_, error);
    return PortFault::unusable;
  }
  if (!leave_to_kernel(reason)) return PortFault::unusable;
  if (sums_) {
    wanted.txmode.offloads |= kSends | (info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_IPV4_CKSUM);
    wanted.rxmode.offloads |= kReceives;
  }
  wanted.intr_conf.rxq = interrupts_ ? 1 : 0;
  wanted.intr_conf.rmv = info.dev_flags != nullptr && (*info.dev_flags & RTE_ETH_DEV_INTR_RMV) != 0 ? 1 : 0;
  wanted.txmode.offloads |= info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
  // Virtual drivers report the usual frame; their buffers decide what they carry.
  const bool knows = !(is_virtual(name_) && info.max_rx_pktlen <= kUsualFrame);
  const std::uint32_t most =
      std::min<std::uint32_t>(info.max_mtu, info.max_rx_pktlen - std::min(info.max_rx_pktlen, kFrameOverhead));
  const std::uint32_t kernel = shared_ ? interface_mtu(kernel_interface_) : 0;
  const std::uint32_t mtu =
      mtu_of_port({.wanted = preference.mtu, .least = info.min_mtu, .most = most, .kernel = kernel});
  if (knows) wanted.rxmode.mtu = mtu;
  if (int error = rte_eth_dev_configure(id_, 1, 1, &wanted); error != 0) {
    reason = described("cannot configure DPDK port", name_, error);
    return PortFault::unusable;
  }
  // Some drivers (ENA) tell the adapter only then. Of a shared port it would be the kernel's interface that changes.
  const bool refused = knows && !shared_ && preference.mtu != 0 && refuses_mtu(id_, mtu);
  std::uint16_t drivers = kUsualMtu;
  rte_eth_dev_get_mtu(id_, &drivers);
  mtu_ = std::min(preference.mtu != 0 && !knows ? preference.mtu : drivers, refused ? kUsualMtu : kLargestMtu);
  node_ = rte_eth_dev_socket_id(id_);
  rte_ether_addr address{};
  rte_eth_macaddr_get(id_, &address);
  std::copy(std::begin(address.addr_bytes), std::end(address.addr_bytes), mac_.begin());
  take_kernels_mac();
  if (send_pool_ == nullptr && !make_pools(preference, reason)) return PortFault::no_memory;
  std::uint16_t receives = preference.receive_descriptors, sends = preference.send_descriptors;
  rte_eth_dev_adjust_nb_rx_tx_desc(id_, &receives, &sends);
  int error = rte_eth_rx_queue_setup(id_, 0, receives, static_cast<unsigned>(node_), nullptr, receive_pool_);
  if (error == 0) error = rte_eth_tx_queue_setup(id_, 0, sends, static_cast<unsigned>(node_), nullptr);
  if (error == 0) return PortFault::none;
  reason = described("cannot set up queues of DPDK port", name_, error);
  return PortFault::unusable;
}

// Of a port with which the kernel receives at one address. The driver may have read it long ago. An interface that the
// driver has made (net_tap) is the other end of a link, with an address of its own.
void EthernetPort::take_kernels_mac() {
  const bool is_one_adapter =
      begins_with_any(name_, {"net_af_packet", "net_af_xdp"}) || (shared_ && !is_virtual(name_));
  if (!is_one_adapter) return;
  interface_number_ = interface_number(network_interface());
  renew_mac();
}

// The interface's name may be another one's by now, or that of another network namespace, where this thread is.
bool EthernetPort::renew_mac() {
  if (!has_kernels_mac() || interface_number(network_interface()) != interface_number_) return false;
  const std::optional<MacAddress> present = interface_mac(network_interface());
  if (!present || *present == mac_) return false;
  mac_ = *present;
  return true;
}

PortFault EthernetPort::takes_only(const FrameEnd& end, std::string& reason) {
  const ControlLock lock;
  rules_for_ = end;
  return add_rules(reason);
}

PortFault EthernetPort::add_rules(std::string& reason) {
  if (!isolated_) return PortFault::none;
  std::string why;
  if (add_flow_rules(id_, rules_for_, why)) return PortFault::none;
  reason = refusal(facts(),
                   "refuses the flow rule for UDP port " + std::to_string(rules_for_.port) + " of " +
                       ipv4_to_text(rules_for_.address) + ", by which it would bring this task its packets",
                   why);
  return PortFault::unusable;
}

}  // namespace openlapi::dpdk
