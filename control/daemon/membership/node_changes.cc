#include "control/daemon/membership/node_changes.h"

#include <utility>
#include <variant>

namespace openlapi::daemon {
namespace {

std::string name_of(std::uint32_t node) { return "n" + std::to_string(node); }

}  // namespace

bool NodeChanges::take(std::uint64_t tool, const DaemonMessage& message) {
  if (std::holds_alternative<GrowthRequest>(message)) {
    take_request(tool);
  } else if (const auto* grown = std::get_if<GrowMessage>(&message)) {
    grow(tool, grown->record);
  } else if (const auto* shrunk = std::get_if<ShrinkMessage>(&message)) {
    shrink(tool, *shrunk);
  } else {
    return false;
  }
  return true;
}

void NodeChanges::settle(std::uint64_t tool, const std::string& failure) { answer_(tool, OutcomeMessage{failure}); }

void NodeChanges::settle_growth(const std::string& failure) {
  const std::uint64_t tool = *grower_;
  joining_.reset();
  grower_.reset();
  settle(tool, failure);
}

void NodeChanges::take_request(std::uint64_t tool) {
  if (grower_ && grower_ != tool) return answer_(tool, GrowthMessage{0, {}, "another lamgrow is at work here", 0});
  if (!membership_.is_linked()) return answer_(tool, GrowthMessage{0, {}, "its daemons are not all linked yet", 0});
  grower_ = tool;
  answer_(tool, GrowthMessage{table_.origin(), MessageBytes(key_.begin(), key_.end()), "",
                              static_cast<std::uint8_t>(promiscuous_)});
}

void NodeChanges::grow(std::uint64_t tool, const NodeRecord& record) {
  if (grower_ != tool || joining_) return settle(tool, "lamd was not asked before");
  if (table_.is_member(record.number)) return settle(tool, name_of(record.number) + " has joined from elsewhere");
  joining_ = record.number;
  membership_.grow(record);
}

void NodeChanges::node_joined(std::uint32_t node) {
  if (joining_ != node) return;
  settle_growth("");
}

void NodeChanges::shrink(std::uint64_t tool, const ShrinkMessage& message) {
  const std::uint32_t node = message.node;
  const auto& nodes = table_.nodes();
  if (node >= nodes.size() || nodes[node].state == NodeState::kInvalid || nodes[node].state == NodeState::kRemoved) {
    return settle(tool, "there is no " + name_of(node));
  }
  if (node == table_.here()) {
    return settle(tool, name_of(node) + " is here: remove it from another node, or end all with lamhalt");
  }
  shrinkers_[tool] = node;
  if (message.force != 0) return membership_.remove(node);
  membership_.shrink(node, message.grace);
}

// A node that is lost while it was to leave is removed too.
void NodeChanges::node_changed(std::uint32_t node) {
  const UniverseNode& now = table_.nodes()[node];
  if (now.lives()) return;
  if (joining_ == node) settle_growth("its daemon was started, and cannot be reached from here or has ended");
  bool is_awaited = false;
  for (const auto& [tool, awaited] : shrinkers_) is_awaited = is_awaited || awaited == node;
  if (!is_awaited) return;
  if (now.state != NodeState::kRemoved) return membership_.remove(node);
  std::erase_if(shrinkers_, [&](const auto& entry) {
    if (entry.second == node) settle(entry.first, "");
    return entry.second == node;
  });
}

// Without lamgrow the daemon of a node that has not joined ends: others need not wait until that is found out.
void NodeChanges::tool_gone(std::uint64_t tool) {
  shrinkers_.erase(tool);
  if (grower_ != tool) return;
  if (joining_) return membership_.remove(*joining_);
  grower_.reset();
}

}  // namespace openlapi::daemon
