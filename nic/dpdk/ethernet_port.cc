#include "nic/dpdk/ethernet_port.h"

#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "dataplane/base/cancellation.h"
#include "dataplane/base/clock.h"
#include "dataplane/base/memory_fault_guard.h"
#include "nic/dpdk/device_preference.h"
#include "nic/dpdk/dpdk_address.h"
#include "nic/dpdk/dpdk_environment.h"
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
constexpr std::uint64_t kLongestStartWait = 200 * kMillisecond;
// A memif server that meets a connection which its client has given up aborts its process (DPDK 22.11 closes a
// descriptor that its interrupt thread listens to). So a client gives up late.
constexpr std::uint64_t kConnectionWait = 2000 * kMillisecond;
constexpr std::uint64_t kOftenChecked = kMillisecond;         // a driver that only reads a variable
constexpr std::uint64_t kWatchedChecked = 5 * kMillisecond;   // one that may ask the adapter, where it is worth it
constexpr std::uint64_t kSeldomChecked = 100 * kMillisecond;  // one that may ask the adapter

// The arguments of devices that were made. Virtual ones are removed with their port, for some cannot be started twice,
// and made again.
std::map<std::string, std::string, std::less<>>& remembered() {
  static auto* const the_one = new std::map<std::string, std::string, std::less<>>;
  return *the_one;
}

// DPDK 22.11 forgets the listening socket of a memif server that is removed, but not to listen to it: its name stays
// taken, and whoever connects to it makes the driver use memory that it has freed. A file is removed, so nobody finds
// it.
bool must_stay(const std::string& device) {
  return device.rfind("net_memif", 0) == 0 && !is_memif_client(device) &&
         device.find("socket-abstract=no") == std::string::npos;
}

bool begins(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }

std::uint32_t room_for(const std::string& driver, std::uint32_t mtu) {
  if (begins(driver, "net_af_xdp")) return kRoomOfXdp;
  return (RTE_PKTMBUF_HEADROOM + kSpareRoom + std::max(mtu, kUsualMtu) + 63) / 64 * 64;
}

std::uint32_t receive_buffers(const std::string& driver, const PortPreference& preference) {
  const std::uint32_t usual = preference.receive_descriptors + preference.held + kBuffersInFlight;
  return begins(driver, "net_af_xdp") ? kBuffersOfXdp + usual : usual;
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

// A driver that has no such function has been told when it was configured.
bool refuses_mtu(std::uint16_t port, std::uint32_t mtu) {
  const int error = rte_eth_dev_set_mtu(port, static_cast<std::uint16_t>(mtu));
  return error != 0 && error != -ENOTSUP;
}

std::string described(const char* what, const std::string& name, int error) {
  const std::string log = take_log();
  return std::string(what) + " " + name + ": " + rte_strerror(error < 0 ? -error : error) +
         (log.empty() ? "" : "; DPDK says: " + log);
}

}  // namespace

template <typename Body>
void EthernetPort::where_it_belongs(const Body& body) {
  if (begins(name_, "net_memif")) {
    call_in_interrupt_thread(body);
  } else {
    body();
  }
}

std::uint64_t EthernetPort::memory_for(const PortPreference& preference) {
  const std::string driver(name_of(preference.device));
  const std::uint64_t buffer = room_for(driver, preference.mtu) + 256;  // descriptor and header included
  const std::uint64_t sends = preference.send_descriptors + kBuffersInFlight;
  return (receive_buffers(driver, preference) + sends) * buffer + (4 << 20);
}

EthernetPort::~EthernetPort() {
  if (!open_) return;
  let_connect();
  const ControlLock lock;
  rte_eth_dev_owner_unset(id_, owner_);
  if (!made_ && !shares_socket()) {
    if (started_) stop();
  } else {
    rte_eth_dev_info info{};
    rte_eth_dev_info_get(id_, &info);
    close();
    rte_dev_remove(info.device);
    rte_mempool_free(receive_pool_);
    rte_mempool_free(send_pool_);
  }
  take_log();
}

bool EthernetPort::find() {
  if (rte_eth_dev_get_port_by_name(name_.c_str(), &id_) == 0) return true;
  for (std::uint16_t port = rte_eth_find_next(0); port < RTE_MAX_ETHPORTS; port = rte_eth_find_next(port + 1)) {
    rte_eth_dev_info info{};
    if (rte_eth_dev_info_get(port, &info) != 0 || info.device == nullptr || name_ != rte_dev_name(info.device))
      continue;
    id_ = port;
    return true;
  }
  return false;
}

PortFault EthernetPort::open(const PortPreference& preference, std::string& reason) {
  const ControlLock lock;
  name_ = name_of(preference.device);
  watched_ = preference.watched;
  take_log();
  if (const PortFault fault = make(preference, reason); fault != PortFault::none) return fault;
  rte_eth_dev_owner owner{};
  rte_eth_dev_owner_new(&owner_);
  owner.id = owner_;
  std::strncpy(owner.name, "openlapi", sizeof owner.name - 1);
  if (rte_eth_dev_owner_set(id_, &owner) != 0) {
    reason = "DPDK port " + name_ + " is in use by another adapter of this task";
    return PortFault::in_use;
  }
  open_ = true;
  // Which drivers have interrupts shows when they are to be used. Virtual ones have none, but for virtio.
  interrupts_ = !is_virtual(name_) || begins(name_, "net_virtio_user");
  PortFault fault = set_up(preference, reason);
  if (fault == PortFault::unusable && interrupts_) {
    interrupts_ = false;
    fault = set_up(preference, reason);
  }
  return fault;
}

// All at once for a memif, so that the driver takes no message of a client's before the end.
PortFault EthernetPort::set_up(const PortPreference& preference, std::string& reason) {
  PortFault fault = PortFault::none;
  where_it_belongs([&] {
    disconnect_stopped();
    fault = configure(preference, reason);
    if (fault != PortFault::none) return;
    const int error = start_here();
    if (error == 0 || client_) return;
    reason = described("cannot start DPDK port", name_, error);
    fault = PortFault::unusable;
  });
  return fault;
}

// A memif server that has been stopped takes in clients all the same, with the rings of the queues that it had: with
// new ones the link would be up and nothing arrive. Stopped once more it turns them out, and they come back.
void EthernetPort::disconnect_stopped() {
  if (begins(name_, "net_memif") && !client_ && rte_eth_dev_start(id_) == 0) rte_eth_dev_stop(id_);
}

PortFault EthernetPort::make(const PortPreference& preference, std::string& reason) {
  const std::vector<PciAdapter> adapters = list_pci_adapters(kPciDevices);
  const auto adapter = std::ranges::find(adapters, name_, &PciAdapter::address);
  const std::string kernel_driver = adapter == adapters.end() ? std::string() : adapter->driver;
  std::string arguments = completed(preference.device, preference.mtu, kernel_driver);
  const auto known = remembered().find(name_);
  if (find()) {
    const std::string made = made_with();
    if (known != remembered().end() && preference.device != name_ && arguments != made) {
      reason = "DPDK port " + name_ + " was made with other arguments, and stays as it is: " + made;
      return PortFault::in_use;
    }
    arguments = made;
  } else {
    if (known != remembered().end() && preference.device == name_) arguments = known->second;
    const int result = rte_dev_probe(arguments.c_str());
    if (result < 0 || !find()) {
      reason = described("no DPDK port", arguments, result < 0 ? result : ENODEV);
      return PortFault::no_device;
    }
  }
  remembered()[name_] = arguments;
  made_ = is_virtual(name_) && !must_stay(arguments);
  client_ = begins(name_, "net_memif") && is_memif_client(arguments);
  interface_ = begins(name_, "net_af_packet") ? argument_of(arguments, "iface") : std::string();
  return PortFault::none;
}

// The device and the arguments that it has.
std::string EthernetPort::made_with() const {
  rte_eth_dev_info info{};
  rte_eth_dev_info_get(id_, &info);
  const rte_devargs* known = info.device == nullptr ? nullptr : rte_dev_devargs(info.device);
  if (known == nullptr || known->args == nullptr || *known->args == 0) return name_;
  return name_ + "," + known->args;
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
bool EthernetPort::leave_to_kernel(std::uint32_t kernel_interface, std::string& reason) {
  std::string why;
  kernel_interface_ = interface_name(kernel_interface);
  // net_tap tells of the one that it has made, not of the one whose frames it takes.
  if (const std::string remote = argument_of(made_with(), "remote"); !remote.empty()) kernel_interface_ = remote;
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
  const std::string number = std::to_string(id_);
  receive_pool_ = make_pool("openlapi_in_" + number, buffers, room, node_);
  send_pool_ = receive_pool_ == nullptr ? nullptr : make_pool("openlapi_out_" + number, sends, room, node_);
  if (send_pool_ != nullptr) return true;
  reason = "DPDK port " + name_ + ": no memory for " + std::to_string(buffers + sends) + " packets of " +
           std::to_string(room) + " bytes: " + rte_strerror(rte_errno) + "; " + std::to_string(free_memory() >> 10) +
           " KiB are free in DPDK's memory, which lies in " + (has_huge_pages() ? "huge" : "ordinary") +
           " pages: make more with vm.nr_hugepages or the EAL argument -m MIB";
  return false;
}

PortFault EthernetPort::configure(const PortPreference& preference, std::string& reason) {
  rte_eth_dev_info info{};
  rte_eth_conf wanted{};
  if (int error = rte_eth_dev_info_get(id_, &info); error != 0) {
    reason = described("DPDK tells nothing of port", name_, error);
    return PortFault::unusable;
  }
  driver_ = info.driver_name == nullptr ? "" : info.driver_name;
  in_memory_ = begins(driver_, "net_memif") || begins(driver_, "net_vhost") || begins(driver_, "net_virtio_user") ||
               begins(driver_, "net_ring");
  unmaps_ = begins(driver_, "net_memif");
  if (unmaps_) catch_memory_faults();
  if (!leave_to_kernel(info.if_index, reason)) return PortFault::unusable;
  constexpr std::uint64_t kSends = RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
  constexpr std::uint64_t kReceives = RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
  sums_ = (info.tx_offload_capa & kSends) != 0 && (info.rx_offload_capa & kReceives) != 0;
  if (sums_) {
    wanted.txmode.offloads |= kSends | (info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_IPV4_CKSUM);
    wanted.rxmode.offloads |= kReceives;
  }
  wanted.intr_conf.rxq = interrupts_ ? 1 : 0;
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
  if (!make_pools(preference, reason)) return PortFault::no_memory;
  std::uint16_t receives = preference.receive_descriptors, sends = preference.send_descriptors;
  rte_eth_dev_adjust_nb_rx_tx_desc(id_, &receives, &sends);
  int error = rte_eth_rx_queue_setup(id_, 0, receives, static_cast<unsigned>(node_), nullptr, receive_pool_);
  if (error == 0) error = rte_eth_tx_queue_setup(id_, 0, sends, static_cast<unsigned>(node_), nullptr);
  if (error == 0) return PortFault::none;
  reason = described("cannot set up queues of DPDK port", name_, error);
  return PortFault::unusable;
}

// A connection of a client's that is under way is not given up.
void EthernetPort::let_connect() {
  rte_eth_link link{};
  for (std::uint64_t waited = 0; client_ && started_ && waited < kConnectionWait; waited += kMillisecond) {
    if (connection_.ended() || rte_eth_link_get_nowait(id_, &link) != 0 || link.link_status == RTE_ETH_LINK_UP) return;
    const timespec moment{0, static_cast<long>(kMillisecond)};
    nanosleep(&moment, nullptr);
  }
}

// With another memif, which stays and goes on listening.
bool EthernetPort::shares_socket() const {
  const std::string own = argument_of(made_with(), "socket");
  for (std::uint16_t port = rte_eth_find_next(0); port < RTE_MAX_ETHPORTS; port = rte_eth_find_next(port + 1)) {
    rte_eth_dev_info info{};
    if (port == id_ || rte_eth_dev_info_get(port, &info) != 0 || info.device == nullptr) continue;
    const rte_devargs* known = rte_dev_devargs(info.device);
    if (known == nullptr || known->args == nullptr || !begins(rte_dev_name(info.device), "net_memif")) continue;
    if (argument_of("," + std::string(known->args), "socket") == own) return begins(name_, "net_memif");
  }
  return false;
}

// 0, or the error number.
int EthernetPort::start() {
  int error = 0;
  where_it_belongs([&] { error = start_here(); });
  return error;
}

int EthernetPort::start_here() {
  int error = 0;
  if (client_) {
    connection_.watch([&] { error = rte_eth_dev_start(id_); });
  } else {
    error = rte_eth_dev_start(id_);
  }
  started_ = error == 0;
  if (started_ && !interface_.empty()) ring_.find(interface_, mtu_);
  return error;
}

void EthernetPort::stop() {
  up_ = false;
  ring_ = {};
  where_it_belongs([&] { rte_eth_dev_stop(id_); });
  started_ = false;
}

// Stopped and closed at once: a memif server that is stopped takes in a client, and closed it forgets the device, not
// the client, whose next message makes the driver use what it has freed.
void EthernetPort::close() {
  up_ = started_ = false;
  ring_ = {};
  where_it_belongs([&] {
    rte_eth_dev_stop(id_);
    rte_eth_dev_close(id_);
  });
}

// A burst that breaks: the driver has marked the link as down before it unmapped anything, which further bursts find,
// and link_check(), which is due then.
std::uint16_t EthernetPort::receive(std::span<rte_mbuf*> buffers) {
  const CancellationOff off;
  const auto most = static_cast<std::uint16_t>(buffers.size());
  if (ring_.may_hold_frames()) [[unlikely]]
    ring_.push();
  if (!unmaps_) return rte_eth_rx_burst(id_, 0, buffers.data(), most);
  std::uint16_t count = 0;
  if (survives([&] { count = rte_eth_rx_burst(id_, 0, buffers.data(), most); })) {
    if (count != 0) heard_ = true;
    return count;
  }
  next_check_ = 0;
  return 0;
}

std::uint16_t EthernetPort::send(std::span<rte_mbuf*> buffers) {
  const CancellationOff off;
  const auto count = static_cast<std::uint16_t>(buffers.size());
  std::uint16_t sent = 0;
  if (!unmaps_) {
    sent = rte_eth_tx_burst(id_, 0, buffers.data(), count);
    ring_.sent(sent);
    return sent;
  }
  if (survives([&] { sent = rte_eth_tx_burst(id_, 0, buffers.data(), count); })) return sent;
  next_check_ = 0;
  return count;
}

// Of a port with which the kernel receives at one address. The driver may have read it long ago. An interface that the
// driver has made (net_tap) is the other end of a link, with an address of its own.
void EthernetPort::take_kernels_mac() {
  const bool is_one_adapter =
      begins(name_, "net_af_packet") || begins(name_, "net_af_xdp") || (shared_ && !is_virtual(name_));
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

std::uint64_t EthernetPort::pause_of_checks() const {
  if (in_memory_ || (watched_ && !interface_.empty())) return kOftenChecked;
  return watched_ ? kWatchedChecked : kSeldomChecked;
}

// af_packet calls the link up whatever the interface does.
bool EthernetPort::link_is_up() const {
  rte_eth_link link{};
  if (!started_ || rte_eth_link_get_nowait(id_, &link) != 0 || link.link_status != RTE_ETH_LINK_UP) return false;
  return !watched_ || interface_.empty() || interface_runs(interface_);
}

void EthernetPort::link_check(std::uint64_t now) {
  if (now < next_check_) return;
  const CancellationOff off;
  next_check_ = now + pause_of_checks();
  const bool up = link_is_up();
  if (up_ && !up) {
    ++link_losses_;
    ends_ += heard_;
    heard_ = false;
    waits_since_ = now;
    next_start_ = now + kFirstStartWait;
  }
  up_ = up;
  was_up_ |= up;
  if (up) start_wait_ = kFirstStartWait;
  if (!up && client_) start_again(now);
}

void EthernetPort::start_again(std::uint64_t now) {
  if (next_start_ == 0) next_start_ = now + (started_ ? kConnectionWait : start_wait_);
  // Turned away: nobody has to be waited for.
  if (started_ && connection_.ended()) next_start_ = std::min(next_start_, waits_since_ + start_wait_);
  if (now < next_start_) return;
  const ControlLock lock(ControlLock::Patience::look);
  if (!lock.held()) return;
  if (started_) stop();
  ++restarts_;
  start_wait_ = std::min(2 * start_wait_, kLongestStartWait);
  waits_since_ = now;
  next_start_ = now + (start() == 0 ? kConnectionWait : start_wait_);
}

PortFault EthernetPort::takes_only(const FrameEnd& end, std::string& reason) {
  if (!isolated_) return PortFault::none;
  std::string why;
  const ControlLock lock;
  if (add_flow_rules(id_, end, why)) return PortFault::none;
  reason = refusal(facts(),
                   "refuses the flow rule for UDP port " + std::to_string(end.port) + " of " +
                       ipv4_to_text(end.address) + ", by which it would bring this task its packets",
                   why);
  return PortFault::unusable;
}

}  // namespace openlapi::dpdk
