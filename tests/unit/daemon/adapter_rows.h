// Rows of the adapter table, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/daemon/adapters/adapter_table.h"

namespace openlapi::daemon {

inline AdapterStatus adapter(const std::string& name, std::uint8_t cause = AdapterCause::kUp,
                             std::uint64_t since = 1) {
  return {name, AdapterKind::kInterface, cause, 1000, since, {{{10, 0, 0, 1}, 24}}};
}

inline std::vector<UniverseNode> members(std::uint32_t count) {
  std::vector<UniverseNode> nodes(count);
  for (UniverseNode& node : nodes) node.state = NodeState::kMember;
  return nodes;
}

}  // namespace openlapi::daemon
