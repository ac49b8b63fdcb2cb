// Which processor a dataplane thread is pinned to, or why to none. A thread that is not pinned runs on whatever
// processor the kernel finds idle at each wake-up; a pinned one waits for its own, whatever computes there. So, unless
// the user asks for it, it is pinned only where that brings it nearer to its adapter and takes nothing from others:
//  - the adapter's place is known, and some but not all of the cores that the task may use are near it;
//  - the task may use two cores for each task of its node: one for a user thread and one for a dataplane thread;
//  - there is a near core that no other task's thread takes. Threads take near cores from the last one downwards, one
//    core each, in the order of the node's tasks.
#pragma once

#include <string>
#include <vector>

namespace openlapi {

// A thread's place among those of its node.
struct ThreadNumber {
  unsigned task = 0;      // this task among those of its node, from 0
  unsigned tasks = 1;     // of the node
  unsigned instance = 1;  // of the context in its task, from 1

  // The contexts of the first instance come first, then those of the second, and so on.
  unsigned value() const { return task + (instance - 1) * tasks; }
};

struct Placement {
  int processor = -1;  // -1: not pinned
  std::string reason;  // for people: "near the adapter", or why it is not pinned
};

// `cores`: those that the task may use, each with its processors; `near`: the processors near the adapter.
Placement place_near(const std::vector<std::vector<int>>& cores, const std::vector<int>& near, ThreadNumber number);

// For the user's list, which is not empty: the threads of the node take its entries in turn.
int place_as_listed(const std::vector<int>& list, ThreadNumber number);

}  // namespace openlapi
