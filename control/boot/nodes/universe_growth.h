// The node array of a universe that grows by one node.
#pragma once

#include "control/boot/include/lamnet.h"
#include "control/boot/nodes/node_array.h"

namespace openlapi::boot {

// What lamgrow's command line says about the new node.
struct GrowthRequest {
  std::string host{};
  int node_id = NOTNODEID;  // NOTNODEID: one more than the highest in the universe
  int cpus = 1;
  bool schedule = true;
};

// Copies of the universe's nodes without NT_BOOT, and the new one with it and NT_JOINS, each at the index that is its
// number; numbers between that no node has are invalid nodes. Throws BootError if the number is taken or not allowed,
// or the host is there already.
NodeArray grow_universe(const lamnode* nodes, int count, const GrowthRequest& request);

}  // namespace openlapi::boot
