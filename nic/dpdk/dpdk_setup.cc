#include <rte_mbuf.h>
#include <time.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "dataplane/base/clock.h"
#include "dataplane/base/random_number.h"
#include "nic/dpdk/dpdk_environment.h"
#include "nic/dpdk/dpdk_transport.h"
#include "nic/dpdk/huge_pages.h"
#include "nic/dpdk/thread_data.h"
#include "nic/modules/dpdk_announcement.h"

namespace openlapi {
namespace {

using Kind = DpdkSetupError::Kind;
constexpr std::uint16_t kFirstFreePort = 49152;     // RFC 6335: for anybody's use
constexpr std::uint32_t kPatienceInMemory = 1'000;  // milliseconds

bool fail(DpdkSetupError& error, Kind kind, std::string text) {
  error = {kind, std::move(text)};
  return false;
}

Kind kind_of(dpdk::PortFault fault) {
  switch (fault) {
    case dpdk::PortFault::none:
      return Kind::none;
    case dpdk::PortFault::no_device:
      return Kind::no_device;
    case dpdk::PortFault::in_use:
      return Kind::in_use;
    case dpdk::PortFault::no_memory:
      return Kind::no_memory;
    case dpdk::PortFault::unusable:
      return Kind::unusable_port;
  }
  return Kind::unusable_port;
}

template <typename Number>
Number nonzero_random_number() {
  Number number = 0;
  while (number == 0) number = random_number<Number>();
  return number;
}

dpdk::PortPreference preference_for(const DpdkConfig& config, const std::string& device) {
  return {.device = device,
          .mtu = config.mtu,
          .receive_descriptors = config.receive_descriptors,
          .send_descriptors = config.send_descriptors,
          .held = config.held_packets,
          .watched = config.link_status || config.devices.size() > 1,
          .renewal_patience = config.renewal_patience * kMillisecond};
}

// 169.254.1.0 to 169.254.254.255 (RFC 3927), by the hardware address.
std::uint32_t link_local(const dpdk::MacAddress& mac) {
  const unsigned third = 1 + (mac[4] ^ mac[3] ^ mac[2]) % 254u;
  return 0xa9fe0000u | third << 8 | mac[5];
}

// Of addresses that the user gives: contexts over memif have the task's, each in a network of two.
bool is_own_address(dpdk::UsedAddress& used, const dpdk::FrameEnd& end, const std::string& port,
                    const dpdk::OwnNetwork& network, std::string& why) {
  if (network.bits == 0) return true;
  std::string user;
  const dpdk::ControlLock lock;
  if (used.take(end.address, end.mac, port, user)) return true;
  why = std::string(dpdk::kAddressVariable) + "=" + network.said + ": " + dpdk::ipv4_to_text(end.address) +
        " is the address of this task's " + user + " already, and " + port + " needs one of its own: " + port +
        "=ADDRESS/BITS, as " + port + "=10.0.0.5/24";
  return false;
}

}  // namespace

std::unique_ptr<DpdkTransport> open_dpdk_transport(const DpdkConfig& config, DpdkSetupError& error) {
  std::unique_ptr<DpdkTransport> transport(new DpdkTransport(config));
  error = {};
  if (!transport->open(error)) return nullptr;
  return transport;
}

TransportCapabilities DpdkTransport::capabilities() {
  return {.wake_source = wake_.get(),
          .peer_limits = this,
          .packet_origins = this,
          .peer_liveness = this,
          .thread_resources = this,
          .link_status = config_.link_status || may_move() ? this : nullptr};
}

void DpdkTransport::enter_thread() { dpdk::have_thread_data(); }

DpdkTransport::~DpdkTransport() {
  wake_.reset();
  for (; first_arrival_ < arrivals_end_; ++first_arrival_) rte_pktmbuf_free(arrivals_[first_arrival_].buffer);
  released_ = held_count_;
  give_back();
  for (const auto& port : ports_) rte_pktmbuf_free_bulk(port->spare.data(), port->spares);
  const dpdk::ControlLock lock;
  used_address_.give_back();
}

bool DpdkTransport::check_values(DpdkSetupError& error) const {
  if (config_.devices.empty()) return fail(error, Kind::no_device, "no DPDK device was named");
  if (config_.devices.size() > 255) return fail(error, Kind::bad_value, "more than 255 DPDK devices for one adapter");
  if (config_.mtu != 0 && (config_.mtu < dpdk::kSmallestMtu || config_.mtu > dpdk::kLargestMtu)) {
    return fail(error, Kind::bad_value,
                "MTU " + std::to_string(config_.mtu) + ": allowed is " + std::to_string(dpdk::kSmallestMtu) + " to " +
                    std::to_string(dpdk::kLargestMtu));
  }
  if (!std::has_single_bit(config_.held_packets) || config_.held_packets < 2 * kMaxBurst) {
    return fail(error, Kind::bad_value, "packets that may be held: a power of two from 64 is needed");
  }
  return true;
}

bool DpdkTransport::open(DpdkSetupError& error) {
  if (!check_values(error)) return false;
  std::uint64_t memory = 0;
  for (const std::string& device : config_.devices) {
    memory += dpdk::EthernetPort::memory_for(preference_for(config_, device));
  }
  std::string reason;
  const dpdk::HugePageNeed need{.bytes = dpdk::would_choose_pages(config_.eal_arguments) ? memory : 0,
                                .tasks = config_.local_tasks};
  std::optional<dpdk::HugePageTurn> turn(std::in_place, need);
  if (!dpdk::start_environment(config_.eal_arguments, memory, turn->may_take(), reason)) {
    return fail(error, Kind::no_environment, reason);
  }
  held_.resize(config_.held_packets);
  if (!open_ports(error)) return false;
  turn.reset();
  if (!choose_address(error)) return false;
  if (!make_wake(error)) return false;
  wait_for_links();
  return true;
}

bool DpdkTransport::make_wake(DpdkSetupError& error) {
  std::vector<dpdk::EthernetPort*> ports;
  for (const auto& port : ports_) ports.push_back(&port->ethernet);
  wake_ = std::make_unique<dpdk::ArrivalWake>(
      ports, dpdk::ArrivalWake::Look{
                 .packets_wait =
                     [this] { return first_arrival_ < arrivals_end_ || (dpdk::have_thread_data() && take_arrivals()); },
                 .packets_passed = [this] { return counters_.packets_sent + counters_.packets_received; }});
  return wake_->valid() || fail(error, Kind::no_memory, "no more file descriptors (ulimit -n)");
}

bool DpdkTransport::open_ports(DpdkSetupError& error) {
  local_.mtu = dpdk::kLargestMtu;
  for (const std::string& device : config_.devices) {
    auto port = std::make_unique<Port>();
    std::string reason;
    const dpdk::PortFault fault = port->ethernet.open(preference_for(config_, device), reason);
    if (fault != dpdk::PortFault::none) return fail(error, kind_of(fault), reason);
    if (port->ethernet.mtu() < dpdk::kSmallestMtu) {
      return fail(error, Kind::unusable_port,
                  "DPDK port " + port->ethernet.name() + " has an MTU of " + std::to_string(port->ethernet.mtu()) +
                      ": " + std::to_string(dpdk::kSmallestMtu) + " is needed");
    }
    local_.mtu = std::min(local_.mtu, port->ethernet.mtu());
    ports_.push_back(std::move(port));
  }
  local_.ports = static_cast<std::uint32_t>(ports_.size());
  limits_ = {.max_packet = dpdk::packet_of(local_.mtu), .max_burst = kMaxBurst, .reliable = false, .checked = true};
  return true;
}

// And has the ports bring what is sent to it.
bool DpdkTransport::choose_address(DpdkSetupError& error) {
  const dpdk::EthernetPort& first = ports_.front()->ethernet;
  if (std::string why;
      config_.network.of_interface &&
      !dpdk::take_from_interface(first.network_interface(), first.name(), config_.address, config_.network, why)) {
    return fail(error, Kind::bad_value, why);
  }
  const dpdk::MacAddress& mac = first.mac();
  std::uint16_t port = config_.port != 0 ? config_.port : held_port_.take();
  if (port == 0) port = static_cast<std::uint16_t>(kFirstFreePort + random_number<std::uint16_t>() % 16384u);
  local_.end = {.mac = mac,
                .address = config_.address != 0 ? config_.address : link_local(mac),
                .port = port,
                .token = nonzero_random_number<std::uint32_t>(),
                .vlan = config_.marks.vlan()};
  if (std::string why; !is_own_address(used_address_, local_.end, first.name(), config_.network, why)) {
    return fail(error, Kind::bad_value, why);
  }
  for (const auto& port : ports_) {
    port->own = local_.end;
    port->own.mac = port->ethernet.mac();
    std::string reason;
    const dpdk::PortFault fault = port->ethernet.takes_only(local_.end, reason);
    if (fault != dpdk::PortFault::none) return fail(error, kind_of(fault), reason);
  }
  publish_macs();
  return true;
}

// The other end of a port in memory is a peer's process. It may be waiting for us elsewhere and look after its end only
// then: a link that does not come up soon comes up with the first packets.
void DpdkTransport::wait_for_links() {
  upkeep();
  patience_ends_ = now_ + config_.link_patience * kMillisecond;
  const std::uint64_t soon = now_ + std::min(config_.link_patience, kPatienceInMemory) * kMillisecond;
  const auto all_up = [&] {
    return std::all_of(ports_.begin(), ports_.end(), [&](const auto& port) {
      return port->ethernet.up() || (port->ethernet.in_memory() && now_ >= soon);
    });
  };
  while (!all_up() && now_ < patience_ends_) {
    const timespec moment{0, static_cast<long>(kMillisecond)};
    nanosleep(&moment, nullptr);
    upkeep();
  }
  patience_ends_ = now_ + config_.link_patience * kMillisecond;
}

bool DpdkTransport::add_peer(PeerIndex peer, const PeerAddress& bytes, std::string& error) {
  dpdk::Address address;
  if (!dpdk::decode(bytes, address, error)) return false;
  const std::optional<std::uint32_t> next_hop = dpdk::next_hop_to(address.end, local_.end, config_.network, error);
  if (!next_hop) return false;
  const std::uint32_t max_packet = dpdk::packet_of(std::min(local_.mtu, address.mtu));
  paths_.add(remotes_.make(peer),
             {.added = true, .address = std::move(address), .next_hop = *next_hop, .max_packet = max_packet});
  return true;
}

std::uint32_t DpdkTransport::max_packet_to(PeerIndex peer) const {
  const Remote* const remote = remotes_.find(peer);
  return remote != nullptr && remote->added ? remote->max_packet : limits_.max_packet;
}

std::uint64_t DpdkTransport::origin_of(PeerIndex peer) const {
  const Remote* const remote = remotes_.find(peer);
  return remote != nullptr && remote->added ? dpdk::origin_of(remote->address.end.address) : 0;
}

DpdkCounters DpdkTransport::dpdk_counters() const {
  DpdkCounters all = own_counters_;
  all.arp_answers = paths_.counters().arp_answers;
  all.arp_questions = paths_.counters().arp_questions;
  all.path_questions = paths_.counters().path_questions;
  for (const auto& port : ports_) {
    all.restarts += port->ethernet.restarts();
    all.link_losses += port->ethernet.link_losses();
    all.renewals += port->ethernet.renewals();
  }
  return all;
}

}  // namespace openlapi
