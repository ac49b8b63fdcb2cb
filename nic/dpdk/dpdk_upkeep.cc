// What is seldom: links, full ports, ARP.
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>

#include "dataplane/base/cancellation.h"
#include "dataplane/base/clock.h"
#include "nic/dpdk/dpdk_transport.h"
#include "nic/dpdk/driver_timers.h"
#include "nic/dpdk/network_interface.h"
#include "nic/dpdk/thread_data.h"

namespace openlapi {
namespace {

constexpr std::uint64_t kUpkeepsPerSecond = 1000;
constexpr std::uint64_t kBetweenQuestions = 5 * kMillisecond;
constexpr std::uint64_t kBetweenReminders = 10 * kSecond;
constexpr std::uint64_t kBetweenTimers = 250 * kMillisecond;
constexpr std::uint64_t kBetweenFollows = 100 * kMillisecond;  // each asks the kernel

std::uint64_t nanoseconds(std::uint64_t ticks) {
  const std::uint64_t rate = rte_get_tsc_hz();
  return ticks / rate * 1'000'000'000 + ticks % rate * 1'000'000'000 / rate;
}

// An isolated port brings no answers to questions: the kernel has them, or is made to ask.
std::optional<dpdk::MacAddress> known_to_kernel(const dpdk::EthernetPort& port, std::uint32_t next_hop) {
  const std::string& interface = port.network_interface();
  if (!port.up() || !port.isolated() || interface.empty()) return std::nullopt;
  const CancellationOff off;
  const auto mac = dpdk::neighbour_mac(interface, next_hop);
  if (!mac) dpdk::look_for_neighbour(interface, next_hop);
  return mac;
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
      router_questions_.at = std::min(router_questions_.at, now_);
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
    follow_interface();
  }
  if (without_port_ != 0 && now_ >= question_at_) {
    question_at_ = now_ + kBetweenQuestions;
    ask_for_peers();
  }
  if (router_questions_.wanted && now_ >= router_questions_.at) ask_for_router();
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
  if (!was_up && ethernet.up()) greet(port);
}

// A new hardware address. The IPv4 address stays, whatever the interface's is: it is the transport's own. Of several
// ports peers know the first one's address alone, and ask for the others'.
void DpdkTransport::follow_interface() {
  const CancellationOff off;
  if (ports_[0]->ethernet.away() || !may_move() || !ports_[0]->ethernet.renew_mac()) return;
  Port& port = *ports_[0];
  take_mac(port);
  if (port.ethernet.up()) greet(port);
}

void DpdkTransport::take_mac(Port& port) {
  if (port.own.mac == port.ethernet.mac()) return;
  port.own.mac = port.ethernet.mac();
  if (ports_.size() == 1) local_.end.mac = port.own.mac;
  remotes_.for_each([&](Remote& remote) {
    if (remote.port == &port || ports_.size() == 1) remote.header.come_from(port.own.mac);
  });
  link_changes_.fetch_add(1, std::memory_order_release);
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

// The port has come up.
void DpdkTransport::greet(Port& port) {
  // A bridge that has not seen a port yet floods what is for it: into the queues of all others.
  send_arp(port, dpdk::make_arp_question(port.own, port.own.address));
  // A memif server can send only when its client has made room, which is when it looks for the first time.
  if (first_arrival_ != arrivals_end_) return;
  for (std::size_t i = 0; i < ports_.size() && !take_arrivals(); ++i) {
  }
}

void DpdkTransport::take_arp(Port& port, std::span<const std::byte> frame) {
  dpdk::ArpMessage message;
  if (!dpdk::parse_arp_frame(frame, message)) {
    ++own_counters_.foreign_frames;
    return;
  }
  if (message.request && message.target_address == port.own.address) {
    send_arp(port, dpdk::make_arp_answer(port.own, message));
    ++own_counters_.arp_answers;
  }
  const bool answers = !message.request && message.target_address == port.own.address;
  found(message.sender_address, port, message.sender_mac, answers ? Source::answer : Source::hearsay);
}

// What leads to peers that are without a port; or a router that has another hardware address now, if it says so itself:
// anybody's broadcast, and another VLAN's, only makes this end ask.
void DpdkTransport::found(std::uint32_t next_hop, Port& port, const dpdk::MacAddress& mac, Source source) {
  const bool is_router = next_hop == config_.network.gateway && next_hop != 0;
  if (without_port_ == 0 && !is_router) return;
  remotes_.for_each([&](Remote& remote) {
    if (!remote.added || remote.next_hop != next_hop) return;
    if (remote.port == nullptr) set_port(remote, port, mac);
    if (remote.port != &port || !remote.is_behind_router() || remote.next_mac == mac) return;
    if (source == Source::answer) {
      set_port(remote, port, mac);
    } else {
      router_questions_.at = std::min(router_questions_.at, now_ + kBetweenQuestions);
    }
  });
}

void DpdkTransport::set_port(Remote& remote, Port& port, const dpdk::MacAddress& mac) {
  dpdk::FrameEnd end = remote.address.end;
  end.mac = mac;
  if (remote.port == nullptr) --without_port_;
  remote.port = &port;
  remote.next_mac = mac;
  remote.ends = port.ethernet.ends();
  remote.header = dpdk::FrameHeader(port.own, end, port.ethernet.sums(), config_.marks);
}

void DpdkTransport::ask_for_peers() {
  remotes_.for_each([&](const Remote& remote) {
    if (remote.added && remote.port == nullptr && !remote.is_behind_router()) ask_for(remote.next_hop);
  });
}

// One question for all peers behind it, and now and then one more: another router may have taken over.
void DpdkTransport::ask_for_router() {
  std::uint64_t pause = kBetweenReminders;
  remotes_.for_each([&](const Remote& remote) {
    if (!remote.added || remote.port != nullptr || !remote.is_behind_router()) return;
    pause = std::min(pause, remote.is_waited_for(now_) ? kBetweenQuestions : kSecond);
  });
  router_questions_.at = now_ + pause;
  ask_for(config_.network.gateway);
  for (const auto& port : ports_) {
    if (const auto mac = known_to_kernel(port->ethernet, config_.network.gateway)) {
      found(config_.network.gateway, *port, *mac, Source::answer);
    }
  }
}

void DpdkTransport::ask_for(std::uint32_t next_hop) {
  for (const auto& port : ports_) {
    if (!port->ethernet.up()) continue;
    send_arp(*port, dpdk::make_arp_question(port->own, next_hop));
    ++own_counters_.arp_questions;
  }
}

// Lost when the port has no room: whoever asked asks again.
void DpdkTransport::send_arp(Port& port, const dpdk::ArpFrame& frame) {
  rte_mbuf* buffer = rte_pktmbuf_alloc(port.ethernet.send_pool());
  if (buffer == nullptr) return;
  const std::size_t tag = config_.marks.tag ? dpdk::kTagLength : 0;
  auto* const bytes = rte_pktmbuf_mtod(buffer, std::byte*);
  std::memcpy(bytes + tag, frame.data(), frame.size());
  if (tag != 0) dpdk::insert_tag(bytes, *config_.marks.tag);
  buffer->data_len = static_cast<std::uint16_t>(tag + frame.size());
  buffer->pkt_len = buffer->data_len;
  if (!port.ethernet.pollable() || port.ethernet.send({&buffer, 1}) == 0) rte_pktmbuf_free(buffer);
}

}  // namespace openlapi
