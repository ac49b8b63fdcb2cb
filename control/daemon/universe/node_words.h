// LAM's words for nodes: n0-3,7 (nodes), N (all), h (here), o (the origin), c0-3,7 (processors, counted through all
// nodes), C (all processors).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/daemon/universe/universe_table.h"

namespace openlapi::daemon {

struct NodeChoice {
  std::uint32_t node = 0;
  std::uint32_t cpus = 0;  // that were chosen; all that it has, when the word was for nodes
  bool operator==(const NodeChoice&) const = default;
};

// Whether the words could name nodes of any universe. Throws std::invalid_argument: one could not.
void check_node_words(const std::vector<std::string>& words);

// In the order of the words. Invalid nodes are left out of N and C, lost ones are not. Throws std::invalid_argument: no
// such word, node or processor.
std::vector<NodeChoice> choose_nodes(const std::vector<std::string>& words, const std::vector<UniverseNode>& nodes,
                                     std::uint32_t here);

}  // namespace openlapi::daemon
