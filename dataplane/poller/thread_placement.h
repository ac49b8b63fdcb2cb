// Which processor a dataplane thread is pinned to, and why none. A thread that is not pinned runs where the kernel
// finds an idle processor at each wake-up; a pinned one waits for its own, whatever computes there. So it is pinned
// without being asked only where that brings it nearer to its adapter and takes nothing from anybody:
//  - the adapter's place is known, and of the cores that the task may use some are near it and some are not;
//  - the task may use two cores for each task of its node: one for each user thread, one for each dataplane thread;
//  - there is a near core for it that no other task's thread takes. Threads take the near cores from the last one on,
//    a core each, the tasks of the node in their order.
#pragma once

#include <string>
#include <vector>

namespace openlapi {

// Where a thread stands among those of its node.
struct ThreadNumber {
  unsigned task = 0;      // this task among those of its node, from 0
  unsigned tasks = 1;     // of the node
  unsigned instance = 1;  // of the context in its task, from 1

  // Contexts of one instance come one after the other, then those of the next.
  unsigned value() const { return task + (instance - 1) * tasks; }
};

struct Placement {
  int processor = -1;  // -1: not pinned
  std::string reason;  // for people: "near the adapter", or why it is not pinned
};

// `cores`: those that the task may use, each with its processors; `near`: the processors near the adapter.
Placement place_near(const std::vector<std::vector<int>>& cores, const std::vector<int>& near, ThreadNumber number);

// The user's list, of one processor at least: the threads of the node take its entries in turn.
int place_as_listed(const std::vector<int>& list, ThreadNumber number);

}  // namespace openlapi
