#include "control/daemon/membership.h"

#include <algorithm>

namespace openlapi::daemon {

Membership::Membership(UniverseTable& table, MembershipLinks& links, Time now)
    : table_(table), links_(links), now_(now) {}

void Membership::start() { go_on(); }

bool Membership::link_up(std::uint32_t node, const std::vector<std::uint32_t>& lost) {
  if (over_) return false;
  if (connecting_ == node) connecting_.reset();
  if (!table_.is_member(node) || node == table_.here() || neighbours_.contains(node)) return false;
  neighbours_[node] = Neighbour{};
  awaited_.erase(node);
  // What was learnt since our list was sent is in neither list, and went to neighbours only.
  for (const std::uint32_t other : table_.lost()) {
    if (std::ranges::find(lost, other) == lost.end()) links_.send(node, LostMessage{other});
  }
  for (const std::uint32_t other : lost) lose(other);
  if (halting_) tell_halt(node);
  go_on();
  return true;
}

void Membership::link_down(std::uint32_t node) {
  if (over_ || neighbours_.erase(node) == 0) return;
  if (halting_) {
    halt_awaited_.erase(node);
    return check_ended();
  }
  lose(node);
  go_on();
}

void Membership::connect_failed(std::uint32_t node) {
  if (over_ || connecting_ != node) return;
  connecting_.reset();
  lose(node);
  go_on();
}

// Ends in go_on() of the caller.
void Membership::lose(std::uint32_t node) {
  if (over_) return;
  if (node == table_.here()) {
    over_ = true;
    return links_.ended(0);
  }
  if (!table_.set_lost(node)) return;
  links_.node_lost(node);
  awaited_.erase(node);
  if (connecting_ == node) connecting_.reset();
  send_to_all(LostMessage{node}, node);
  if (neighbours_.erase(node) == 0) return;
  halt_awaited_.erase(node);
  links_.send(node, LostMessage{node});
  links_.close(node);
}

void Membership::send_to_all(const DaemonMessage& message, std::optional<std::uint32_t> except) {
  for (const auto& [node, neighbour] : neighbours_) {
    if (node != except) links_.send(node, message);
  }
}

void Membership::go_on() {
  if (over_) return;
  find_parent();
  await_children();
  say_ready();
  if (halt_asked_ && !halting_ && is_complete()) spread_halt();
  check_ended();
}

void Membership::find_parent() {
  const auto parent = table_.parent();
  if (halting_ || !parent || connecting_ || neighbours_.contains(*parent)) return;
  connecting_ = *parent;
  links_.connect(*parent);
}

void Membership::await_children() {
  for (const std::uint32_t child : table_.children()) {
    if (!halting_ && !neighbours_.contains(child)) awaited_.try_emplace(child, now_ + kJoinTime);
  }
}

bool Membership::is_complete() const {
  const auto parent = table_.parent();
  return awaited_.empty() && (!parent || neighbours_.contains(*parent));
}

void Membership::say_ready() {
  const auto& children = table_.children();
  const auto parent = table_.parent();
  const bool below = is_complete() && std::ranges::all_of(children, [&](std::uint32_t child) {
                       const auto found = neighbours_.find(child);
                       return found != neighbours_.end() && (linked_ || found->second.ready);
                     });
  const auto tell = [&](std::uint32_t node) {
    const auto found = neighbours_.find(node);
    if (found == neighbours_.end() || found->second.told_ready) return;
    found->second.told_ready = true;
    links_.send(node, ReadyMessage{});
  };
  if (parent && below) tell(*parent);
  if (!linked_ && below && (!parent || neighbours_[*parent].ready)) {
    linked_ = true;
    links_.universe_linked();
  }
  if (!linked_) return;
  for (const std::uint32_t child : children) tell(child);
}

void Membership::take(std::uint32_t from, const DaemonMessage& message) {
  if (over_ || !neighbours_.contains(from)) return;
  if (std::holds_alternative<ReadyMessage>(message)) {
    neighbours_[from].ready = true;
  } else if (const auto* lost = std::get_if<LostMessage>(&message)) {
    lose(lost->node);
  } else if (std::holds_alternative<HaltMessage>(message)) {
    // From two sides at once, when two tools ask: neither waits for the other.
    halt_awaited_.erase(from);
    if (!halting_) halt_from_ = from;
    if (!halting_) spread_halt();
  } else if (const auto* halted = std::get_if<HaltedMessage>(&message)) {
    if (halt_awaited_.contains(from)) halted_ += halted->daemons;
  }
  go_on();
}

void Membership::halt() {
  halt_asked_ = true;
  go_on();
}

void Membership::tell_halt(std::uint32_t node) {
  halt_awaited_.insert(node);
  links_.send(node, HaltMessage{});
}

void Membership::spread_halt() {
  halting_ = true;
  awaited_.clear();
  for (const auto& [node, neighbour] : neighbours_) {
    if (node != halt_from_) tell_halt(node);
  }
}

// Halted is the last that a daemon sends: its neighbour waits for the end of the connection, so for the daemon's own.
void Membership::check_ended() {
  if (over_ || !halting_ || !halt_awaited_.empty()) return;
  over_ = true;
  if (halt_from_ && neighbours_.contains(*halt_from_)) links_.send(*halt_from_, HaltedMessage{halted_});
  links_.ended(halted_);
}

std::optional<Time> Membership::deadline() const {
  if (awaited_.empty()) return std::nullopt;
  return std::ranges::min_element(awaited_, {}, [](const auto& entry) { return entry.second; })->second;
}

void Membership::tick(Time now) {
  now_ = now;
  std::vector<std::uint32_t> late;
  for (const auto& [node, until] : awaited_) {
    if (until <= now) late.push_back(node);
  }
  for (const std::uint32_t node : late) lose(node);
  if (!late.empty()) go_on();
}

}  // namespace openlapi::daemon
