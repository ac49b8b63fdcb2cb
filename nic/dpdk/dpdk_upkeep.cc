// What is seldom: links, full ports, other hardware addresses.
#include <rte_cycles.h>

#include <algorithm>
#include <cstdio>

#include "dataplane/base/cancellation.h"
#include "dataplane/base/clock.h"
#include "nic/dpdk/dpdk_transport.h"
#include "nic/dpdk/driver_timers.h"
#include "nic/dpdk/network_interface.h"
#include "nic/dpdk/thread_data.h"

namespace openlapi {
namespace {

constexpr std::uint64_t kUpkeepsPerSecond = 1000;
constexpr std::uint64_t kBetweenTimers = 250 * kMillisecond;
constexpr std::uint64_t kBetweenFollows = 100 * kMillisecond;  // each asks the kernel

std::uint64_t nanoseconds(std::uint64_t ticks) {
  const std::uint64_t rate = rte_get_tsc_hz();
  return ticks / rate * 1'000'000'000 + ticks % rate * 1'000'000'000 / rate;
}

// Peers are reached over other ports, or given up when their time is over.
void say_gone(const dpdk::EthernetPort& port) {
  std::fprintf(stderr, "openlapi: DPDK port %s %s; this task does not use it any more\n", port.name().c_str(),
               port.why_gone().c_str());
}

}  // namespace

// It is not known which port leads to the peer, or that port is not up, or had no room when it was last asked.
std::size_t DpdkTransport::send_hindered(Remote& remote, std::span<const OutgoingPacket> packets) {
  if (rte_get_tsc_cycles() >= upkeep_at_) upkeep();
  if (remote.port == nullptr) {
    // The answer lies among the arrivals; nobody else may be asking for them.
    if (first_arrival_ == arrivals_end_) take_arrivals();
    if (remote.port == nullptr && remote.lost_from == 0) {
      remote.lost_from = now_ + config_.link_patience * kMillisecond;
      paths_.hurry(now_);
    }
    if (remote.port == nullptr) return remote.is_waited_for(now_) ? refuse() : lose(packets.size());
  }
  Port& port = *remote.port;
  // One first: the payload of those that find no room is copied for nothing.
  if (port.ethernet.up()) {
    const std::size_t first = send_on(port, remote, packets.first(std::min<std::size_t>(packets.size(), 1)));
    return first == 0 || packets.size() == 1 ? first : first + send_on(port, remote, packets.subspan(1));
  }
  return !port.ethernet.was_up() && now_ < patience_ends_ ? refuse() : lose(packets.size());
}

// Once in a while, however often it is called: for timely answers the interval is short.
void DpdkTransport::upkeep() {
  const std::uint64_t ticks = rte_get_tsc_cycles();
  upkeep_at_ = ticks + rte_get_tsc_hz() / kUpkeepsPerSecond;
  now_ = nanoseconds(ticks);
  if (now_ >= next_timers_) {
    next_timers_ = now_ + kBetweenTimers;
    dpdk::run_driver_timers();
  }
  for (const auto& port : ports_) look_after(*port);
  if (now_ >= next_follow_) {
    next_follow_ = now_ + kBetweenFollows;
    follow_interfaces();
  }
  paths_.go_on(now_);
}

// Who sleeps on a port's interrupts stops doing so before it is reset.
void DpdkTransport::look_after(Port& port) {
  dpdk::EthernetPort& ethernet = port.ethernet;
  const bool was_up = ethernet.up();
  ethernet.link_check(now_);
  wake_->follow(ethernet);
  if (ethernet.away() && !ethernet.gone()) {
    ethernet.renew(now_);
    if (ethernet.gone() && config_.tell) say_gone(ethernet);
    if (!ethernet.away()) {
      take_mac(port);
      ethernet.link_check(now_);  // its driver may want the next reset already
      wake_->follow(ethernet);
    }
  }
  if (was_up != ethernet.up()) link_changes_.fetch_add(1, std::memory_order_release);
  if (was_up && !ethernet.up()) paths_.port_went_down(port);
  if (!was_up && ethernet.up()) greet(port);
}

// A port with an interface of the kernel may get another hardware address, and a virtual function while it is reset.
bool DpdkTransport::may_move() const {
  return std::ranges::any_of(ports_, [](const auto& port) { return !port->ethernet.in_memory(); });
}

// A new hardware address. The IPv4 address stays, whatever the interface's is: it is the transport's own.
void DpdkTransport::follow_interfaces() {
  if (!may_move()) return;
  const CancellationOff off;
  for (const auto& port : ports_) {
    if (port->ethernet.away() || !port->ethernet.renew_mac()) continue;
    take_mac(*port);
    if (port->ethernet.up()) greet(*port);
  }
}

void DpdkTransport::take_mac(Port& port) {
  if (port.own.mac == port.ethernet.mac()) return;
  port.own.mac = port.ethernet.mac();
  publish_macs();
  remotes_.for_each([&](Remote& remote) {
    if (remote.port == &port) remote.header.come_from(port.own.mac);
  });
  paths_.ask_all();
  link_changes_.fetch_add(1, std::memory_order_release);
}

// Ports in memory are asked by those alone whom they lead to, and keep their addresses.
void DpdkTransport::publish_macs() {
  local_.end.mac = ports_.front()->own.mac;
  local_.further.clear();
  if (ports_.size() - 1 > dpdk::kMostFurtherPorts || !may_move()) return;
  for (std::size_t i = 1; i < ports_.size(); ++i) local_.further.push_back(ports_[i]->own.mac);
}

void DpdkTransport::look() {
  if (dpdk::have_thread_data() && rte_get_tsc_cycles() >= upkeep_at_) upkeep();
}

// A link that was never up yet may be waited for.
std::uint32_t DpdkTransport::words_against(PeerIndex peer) const {
  const Port* const port = remotes_.find(peer)->port;
  return port == nullptr || port->ethernet.up() || !port->ethernet.was_up() ? 0 : 1;
}

bool DpdkTransport::has_link() const {
  return std::ranges::any_of(ports_, [](const auto& port) {
    const dpdk::EthernetPort& ethernet = port->ethernet;
    return ethernet.up() && (ethernet.interface().empty() || dpdk::interface_runs(ethernet.interface()));
  });
}

// The port has come up, or has another hardware address.
void DpdkTransport::greet(Port& port) {
  paths_.greet(port);
  // A memif server can send only when its client has made room, which is when it looks for the first time.
  if (first_arrival_ != arrivals_end_) return;
  for (std::size_t i = 0; i < ports_.size() && !take_arrivals(); ++i) {
  }
}

}  // namespace openlapi
