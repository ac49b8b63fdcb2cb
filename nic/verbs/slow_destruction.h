// Destroys queue pairs in a thread of its own. Soft-RoCE waits up to a second until packets of the queue pair are gone
// that wait for a neighbour, as they do behind a link that is down, and nothing else would move meanwhile. What is
// given here has been stopped. Everything is called by one thread at a time.
#pragma once

#include <cstddef>
#include <vector>

#include "dataplane/base/slow_call.h"
#include "nic/verbs/verbs_objects.h"

namespace openlapi::verbs {

class SlowDestruction {
 public:
  // Where there is no thread or memory for it, it is destroyed at once.
  void add(QueuePair queue_pair);
  // To be called now and then.
  void go_on();
  // Waits until all are destroyed.
  void finish();
  // Queue pairs that are not known to be destroyed yet.
  std::size_t count();

 private:
  std::vector<QueuePair> waiting_;
  std::vector<QueuePair> under_way_;  // the thread's, while there is one
  std::size_t count_under_way_ = 0;
  SlowCall call_;  // last: it uses the others
};

}  // namespace openlapi::verbs
