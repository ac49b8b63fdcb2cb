#include "nic/dpdk/path_search.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "dataplane/base/cancellation.h"
#include "dataplane/base/clock.h"
#include "nic/dpdk/network_interface.h"
#include "nic/dpdk/path_message.h"

namespace openlapi::dpdk {
namespace {

constexpr std::uint64_t kBetweenQuestions = 5 * kMillisecond;
constexpr std::uint64_t kOftenAsked = 3 * kSecond;  // so long, and as long as packets wait; then once a second
constexpr std::uint64_t kBetweenReminders = 10 * kSecond;

// An isolated port brings no answers to questions: the kernel has them, or is made to ask.
std::optional<MacAddress> known_to_kernel(const EthernetPort& port, std::uint32_t next_hop) {
  const std::string& interface = port.network_interface();
  if (!port.up() || !port.isolated() || interface.empty()) return std::nullopt;
  const CancellationOff off;
  const auto mac = neighbour_mac(interface, next_hop);
  if (!mac) look_for_neighbour(interface, next_hop);
  return mac;
}

}  // namespace

void PathSearch::add(Remote& remote, Remote present) {
  if (remote.sought) --sought_;
  remote = std::move(present);
  if (remote.is_behind_router()) {
    router_questions_ = {.wanted = true};
  } else if (is_only_way(remote)) {
    set_port(remote, *ports_.front(), remote.address.end.mac);
  } else {
    seek(remote);
  }
}

void PathSearch::seek(Remote& remote) {
  if (remote.is_behind_router()) return;
  if (!remote.sought) ++sought_;
  remote.sought = true;
  remote.sought_since = now_;
  question_at_ = 0;
}

void PathSearch::set_port(Remote& remote, Port& port, const MacAddress& mac) {
  FrameEnd end = remote.address.end;
  end.mac = mac;
  if (remote.sought) --sought_;
  remote.sought = false;
  remote.port = &port;
  remote.next_mac = mac;
  remote.lost_from = 0;
  remote.ends = port.ethernet.ends();
  remote.header = FrameHeader(port.own, end, port.ethernet.udp_sum(), marks_);
}

void PathSearch::hurry(std::uint64_t now) {
  question_at_ = std::min(question_at_, now);
  router_questions_.at = std::min(router_questions_.at, now);
}

void PathSearch::go_on(std::uint64_t now) {
  now_ = now;
  if (sought_ != 0 && now_ >= question_at_) ask_for_peers();
  if (router_questions_.wanted && now_ >= router_questions_.at) ask_for_router();
}

// A bridge that has not seen a port yet floods what is for it: into the queues of all others.
void PathSearch::greet(Port& port) {
  send(port, make_arp_question(port.own, port.own.address));
  question_at_ = 0;
  leave_dead_ways();
}

void PathSearch::port_went_down(const Port& port) {
  if (port.ethernet.in_memory()) return;
  leave_dead_ways();
  ask_all();
}

// Where no port is up the ways stay, so that it shows that there is none. The other end of a port in memory is a peer's
// to whom no other port leads.
void PathSearch::leave_dead_ways() {
  if (std::ranges::none_of(ports_, [](const auto& port) { return port->ethernet.up(); })) return;
  remotes_.for_each([&](Remote& remote) {
    if (remote.port == nullptr || remote.port->ethernet.up() || remote.port->ethernet.in_memory()) return;
    remote.port = nullptr;
    remote.lost_from = 0;
    seek(remote);
  });
  router_questions_.at = 0;
}

void PathSearch::ask_all() {
  remotes_.for_each([&](Remote& remote) {
    if (remote.added && !is_only_way(remote)) seek(remote);
  });
}

bool PathSearch::take_arp(Port& port, std::span<const std::byte> frame) {
  ArpMessage message;
  if (!parse_arp_frame(frame, message)) return false;
  const bool for_this_end = message.target_address == port.own.address;
  if (message.request && for_this_end) {
    send(port, make_arp_answer(port.own, message));
    ++counters_.arp_answers;
  }
  const bool answers = !message.request && for_this_end;
  found_router(message.sender_address, port, message.sender_mac, answers ? Source::answer : Source::hearsay);
  return true;
}

// What has waited in a port that has gone down since, or is not known to be up yet, tells no way: whoever asked asks
// again.
bool PathSearch::take_message(Port& port, std::span<const std::byte> frame, const FrameView& view) {
  PathMessage message;
  if (!parse_path_frame(frame, view, message)) return false;
  if (!port.ethernet.up()) return true;
  const FrameEnd& sender = message.sender;
  if (message.question) send(port, make_path_frame(port.own, sender, marks_, false));
  remotes_.for_each([&](Remote& remote) {
    const FrameEnd& end = remote.address.end;
    if (!remote.added || remote.is_behind_router() || is_only_way(remote)) return;
    if (end.token != sender.token || end.address != sender.address || end.port != sender.port) return;
    if (message.question || remote.sought) set_port(remote, port, sender.mac);
  });
  return true;
}

// What leads to peers that are without a port; or a router that has another hardware address now, if it says so itself:
// anybody's broadcast, and another VLAN's, only makes this end ask.
void PathSearch::found_router(std::uint32_t address, Port& port, const MacAddress& mac, Source source) {
  if (address != network_.gateway || address == 0) return;
  remotes_.for_each([&](Remote& remote) {
    if (!remote.added || remote.next_hop != address || !remote.is_behind_router()) return;
    if (remote.port == nullptr) set_port(remote, port, mac);
    if (remote.port != &port || remote.next_mac == mac) return;
    if (source == Source::answer) {
      set_port(remote, port, mac);
    } else {
      router_questions_.at = std::min(router_questions_.at, now_ + kBetweenQuestions);
    }
  });
}

void PathSearch::ask_for_peers() {
  std::uint64_t pause = kSecond;
  remotes_.for_each([&](const Remote& remote) {
    if (!remote.added || !remote.sought) return;
    if (remote.is_waited_for(now_) || now_ - remote.sought_since < kOftenAsked) pause = kBetweenQuestions;
    ask(remote);
  });
  question_at_ = now_ + pause;
}

void PathSearch::ask(const Remote& remote) {
  const Address& address = remote.address;
  FrameEnd end = address.end;
  const auto ask_at = [&](Port& port, const MacAddress& mac) {
    end.mac = mac;
    send(port, make_path_frame(port.own, end, marks_, true));
    ++counters_.path_questions;
  };
  for (const auto& port : ports_) {
    if (!port->ethernet.up()) continue;
    if (address.ports == 1 || !address.further.empty()) {
      ask_at(*port, address.end.mac);
      for (const MacAddress& mac : address.further) ask_at(*port, mac);
    } else {
      ask_at(*port, kBroadcast);
    }
  }
}

// One question for all peers behind it, and now and then one more: another router may have taken over.
void PathSearch::ask_for_router() {
  std::uint64_t pause = kBetweenReminders;
  remotes_.for_each([&](const Remote& remote) {
    if (!remote.added || remote.port != nullptr || !remote.is_behind_router()) return;
    pause = std::min(pause, remote.is_waited_for(now_) ? kBetweenQuestions : kSecond);
  });
  router_questions_.at = now_ + pause;
  for (const auto& port : ports_) {
    if (!port->ethernet.up()) continue;
    send(*port, make_arp_question(port->own, network_.gateway));
    ++counters_.arp_questions;
    if (const auto mac = known_to_kernel(port->ethernet, network_.gateway)) {
      found_router(network_.gateway, *port, *mac, Source::answer);
    }
  }
}

// Lost when the port has no room: whoever asked asks again.
void PathSearch::send(Port& port, std::span<const std::byte> frame) const {
  rte_mbuf* buffer = rte_pktmbuf_alloc(port.ethernet.send_pool());
  if (buffer == nullptr) return;
  const std::size_t tag = marks_.tag ? kTagLength : 0;
  auto* const bytes = rte_pktmbuf_mtod(buffer, std::byte*);
  std::memcpy(bytes + tag, frame.data(), frame.size());
  if (tag != 0) insert_tag(bytes, *marks_.tag);
  buffer->data_len = static_cast<std::uint16_t>(tag + frame.size());
  buffer->pkt_len = buffer->data_len;
  if (!port.ethernet.pollable() || port.ethernet.send({&buffer, 1}) == 0) rte_pktmbuf_free(buffer);
}

}  // namespace openlapi::dpdk
