#include "control/daemon/service/connected_tools.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace openlapi::daemon {

void ConnectedTools::add(FileDescriptor socket) {
  tools_.push_back({Connection(std::move(socket), std::make_unique<MessageStream>()), ++seen_});
}

void ConnectedTools::answer(std::uint64_t number, const DaemonMessage& message) {
  for (Tool& tool : tools_) {
    if (tool.number == number && !tool.over) tool.connection.send(message);
  }
}

// What was removed is to tools as if it had never been.
void ConnectedTools::tell_universe(Tool& tool) {
  UniverseMessage universe{table_.here(), table_.nodes(), table_.parents()};
  for (UniverseNode& node : universe.nodes) {
    if (node.state == NodeState::kRemoved) node = UniverseNode{};
  }
  tool.connection.send(universe);
}

void ConnectedTools::ask_universe(Tool& tool, bool wait_until_linked) {
  if (linked_ || !wait_until_linked) {
    tell_universe(tool);
  } else {
    tool.awaits = Tool::Awaited::kUniverse;
  }
}

void ConnectedTools::universe_linked() {
  linked_ = true;
  for (Tool& tool : tools_) {
    if (tool.awaits != Tool::Awaited::kUniverse) continue;
    tool.awaits = Tool::Awaited::kNothing;
    tell_universe(tool);
  }
}

void ConnectedTools::halted(const std::set<std::uint32_t>& nodes, const std::set<std::uint32_t>& silent) {
  const HaltedMessage answer{{nodes.begin(), nodes.end()}, {silent.begin(), silent.end()}};
  for (Tool& tool : tools_) {
    if (tool.awaits == Tool::Awaited::kHalt) tool.connection.send(answer);
  }
}

bool ConnectedTools::has_outgoing() const {
  return std::ranges::any_of(tools_, [](const Tool& tool) { return !tool.over && tool.connection.has_outgoing(); });
}

}  // namespace openlapi::daemon
