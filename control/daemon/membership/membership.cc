#include "control/daemon/membership/membership.h"

#include <algorithm>
#include <utility>

namespace openlapi::daemon {

Membership::Membership(UniverseTable& table, MembershipLinks& links, std::function<Time()> clock, bool joins)
    : table_(table), links_(links), clock_(std::move(clock)), joins_(joins) {
  if (joins) join_until_ = clock_() + kJoinTime;
}

void Membership::start() { go_on(); }

bool Membership::link_up(std::uint32_t node, const std::vector<NodeRecord>& changes) {
  if (over_) return false;
  if (connecting_ == node) connecting_.reset();
  join_until_.reset();
  // Its own place first: what was known of an earlier daemon with this number is nothing to it.
  for (const bool own : {true, false}) {
    for (const NodeRecord& record : changes) {
      if ((record.number == table_.here()) == own) learn(record, std::nullopt);
    }
  }
  if (over_) return true;
  if (!table_.is_member(node) || node == table_.here() || neighbours_.contains(node)) return false;
  neighbours_[node] = Neighbour{};
  awaited_.erase(node);
  halt_silent_.erase(node);
  // What was learnt since our list was sent is in neither list, and went to neighbours only.
  for (const NodeRecord& own : table_.changes()) {
    const auto known = std::ranges::find(changes, own.number, &NodeRecord::number);
    if (known == changes.end() || is_newer(own.node, known->node)) links_.send(node, NodeMessage{own});
  }
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
  if (over_ || (connecting_ != node && !sponsored_.contains(node))) return;
  lose(node);
  go_on();
}

// A boot is heard of at its origin alone: whoever loses that before all are linked may have the one link that fails,
// and says nothing against it.
void Membership::lose(std::uint32_t node) {
  if (node == table_.origin() && !linked_ && !joins_) return give_up();
  change(node, sponsored_.contains(node) ? NodeState::kRemoved : NodeState::kLost);
}

void Membership::give_up() {
  over_ = true;
  links_.ended({}, {});
}

bool Membership::needs_agent() const { return is_joining() || (table_.here() == table_.origin() && !linked_); }

void Membership::agent_gone() {
  if (needs_agent() && !over_) give_up();
}

void Membership::change(std::uint32_t node, std::uint8_t state) {
  if (node >= table_.nodes().size()) return;
  NodeRecord record{node, table_.nodes()[node]};
  record.node.state = state;
  learn(record, std::nullopt);
}

// All that changes passes here, and is passed on once.
void Membership::learn(const NodeRecord& record, std::optional<std::uint32_t> from) {
  if (over_) return;
  const std::uint32_t number = record.number;
  const UniverseNode before = number < table_.nodes().size() ? table_.nodes()[number] : UniverseNode{};
  if (!table_.apply(record)) return;
  const UniverseNode& node = table_.nodes()[number];
  send_to_all(NodeMessage{{number, node}}, from);
  if (number == table_.here()) return look_at_own_node(before);
  if (!node.lives() || node.stamp != before.stamp) drop(number);
  if (node.state == NodeState::kLost) links_.node_lost(number);
  links_.node_changed(number);
}

void Membership::look_at_own_node(const UniverseNode& before) {
  const UniverseNode& own = table_.nodes()[table_.here()];
  if (own.state == NodeState::kLeaving) {
    leave_at_ = clock_() + std::chrono::seconds(own.grace);
  } else if (!own.lives() || own.address != before.address || own.port != before.port) {
    give_up();
  }
}

// There is no such daemon any more, as far as we are concerned.
void Membership::drop(std::uint32_t node) {
  awaited_.erase(node);
  const bool connects = sponsored_.erase(node) != 0 || connecting_ == node;
  if (connecting_ == node) connecting_.reset();
  if (neighbours_.erase(node) == 0 && !connects) return;
  halt_awaited_.erase(node);
  links_.close(node);
}

void Membership::leave() {
  leave_at_.reset();
  NodeRecord own{table_.here(), table_.nodes()[table_.here()]};
  own.node.state = NodeState::kRemoved;
  table_.apply(own);
  send_to_all(NodeMessage{own}, std::nullopt);
  over_ = true;
  links_.ended({table_.here()}, {});
}

void Membership::send_to_all(const DaemonMessage& message, std::optional<std::uint32_t> except) {
  for (const auto& [node, neighbour] : neighbours_) {
    if (node != except) links_.send(node, message);
  }
}

void Membership::go_on() {
  if (over_ || join_until_) return;
  if (joins_ && !linked_ && !table_.parent()) return give_up();  // all others are gone: it has joined nobody
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
    if (!halting_ && !neighbours_.contains(child)) awaited_.try_emplace(child, clock_() + kJoinTime);
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
    if (sponsored_.erase(from) != 0) links_.node_joined(from);
  } else if (const auto* changed = std::get_if<NodeMessage>(&message)) {
    learn(changed->record, from);
  } else if (std::holds_alternative<LostMessage>(message)) {
    change(table_.here(), NodeState::kLost);
  } else if (const auto* halt = std::get_if<HaltMessage>(&message)) {
    // From two sides at once, when two tools ask: neither waits for the other, and both end.
    halt_awaited_.erase(from);
    halted_.insert(from);
    halt_heard_.insert(from);
    ask_to_halt(from, std::chrono::milliseconds(halt->limit));
  } else if (const auto* halted = std::get_if<HaltedMessage>(&message)) {
    if (!halt_awaited_.contains(from)) return;
    halted_.insert(halted->nodes.begin(), halted->nodes.end());
    halt_silent_.insert(halted->silent.begin(), halted->silent.end());
  }
  go_on();
}

// Where not all are linked, others may still come.
void Membership::halt(std::chrono::milliseconds limit) {
  ask_to_halt(std::nullopt, limit + (linked_ ? std::chrono::seconds(0) : kJoinTime));
  go_on();
}

void Membership::ask_to_halt(std::optional<std::uint32_t> from, std::chrono::milliseconds limit) {
  if (halting_) return;
  const Time now = clock_();
  halt_spread_by_ = std::min(halt_spread_by_.value_or(Time::max()), now + limit / 2);
  halt_until_ = std::min(halt_until_.value_or(Time::max()), now + limit);
  if (!halt_asked_) halt_from_ = from;
  halt_asked_ = true;
}

void Membership::grow(NodeRecord record) {
  record.node.state = NodeState::kMember;
  record.node.stamp = table_.next_stamp();
  record.node.sponsor = table_.here();
  learn(record, std::nullopt);
  sponsored_.insert(record.number);
  links_.connect(record.number);
  go_on();
}

void Membership::shrink(std::uint32_t node, std::uint32_t grace) {
  if (!table_.is_member(node)) return remove(node);
  NodeRecord record{node, table_.nodes()[node]};
  record.node.state = NodeState::kLeaving;
  record.node.grace = grace;
  learn(record, std::nullopt);
  go_on();
}

void Membership::remove(std::uint32_t node) {
  change(node, NodeState::kRemoved);
  go_on();
}

void Membership::tell_halt(std::uint32_t node) {
  halt_awaited_.insert(node);
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*halt_until_ - clock_());
  links_.send(node, HaltMessage{static_cast<std::uint32_t>(std::max<std::int64_t>(left.count(), 0) * 7 / 8)});
}

void Membership::spread_halt() {
  halting_ = true;
  halt_spread_by_.reset();
  halted_.insert(table_.here());
  for (const auto& [child, until] : awaited_) halt_silent_.insert(child);
  awaited_.clear();
  const auto parent = table_.parent();
  if (parent && !neighbours_.contains(*parent)) halt_silent_.insert(*parent);
  for (const auto& [node, neighbour] : neighbours_) {
    if (!halt_heard_.contains(node)) tell_halt(node);
  }
}

// Halted is the last that a daemon sends: its neighbour waits for the end of the connection, so for the daemon's own.
void Membership::check_ended() {
  if (over_ || !halting_ || !halt_awaited_.empty()) return;
  over_ = true;
  if (halt_from_ && neighbours_.contains(*halt_from_)) {
    links_.send(*halt_from_,
                HaltedMessage{{halted_.begin(), halted_.end()}, {halt_silent_.begin(), halt_silent_.end()}});
  }
  links_.ended(halted_, halt_silent_);
}

std::optional<Time> Membership::deadline() const {
  std::optional<Time> next;
  const auto consider = [&](std::optional<Time> time) {
    if (time && (!next || *time < *next)) next = time;
  };
  for (const auto& [node, until] : awaited_) consider(until);
  consider(join_until_);
  consider(leave_at_);
  consider(halting_ ? halt_until_ : halt_spread_by_);
  return over_ ? std::nullopt : next;
}

void Membership::tick(Time now) {
  if (over_) return;
  if (leave_at_ && *leave_at_ <= now) return leave();
  if (join_until_ && *join_until_ <= now) return give_up();
  if (!halting_ && halt_spread_by_ && *halt_spread_by_ <= now) {
    spread_halt();
    return check_ended();
  }
  if (halting_ && *halt_until_ <= now) {
    halt_silent_.merge(halt_awaited_);
    halt_awaited_.clear();
    return check_ended();
  }
  std::vector<std::uint32_t> late;
  for (const auto& [node, until] : awaited_) {
    if (until <= now) late.push_back(node);
  }
  for (const std::uint32_t node : late) lose(node);
  if (!late.empty()) go_on();
}

}  // namespace openlapi::daemon
