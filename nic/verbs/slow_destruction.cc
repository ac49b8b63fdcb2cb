#include "nic/verbs/slow_destruction.h"

#include <new>
#include <utility>

namespace openlapi::verbs {

// Destructors call this.
void SlowDestruction::add(QueuePair queue_pair) {
  try {
    waiting_.push_back(std::move(queue_pair));
  } catch (const std::bad_alloc&) {
    return;  // it is still here, and ends with this call
  }
  go_on();
}

void SlowDestruction::go_on() {
  if (count_under_way_ != 0) {
    if (!call_.over()) return;
    count_under_way_ = 0;
  }
  if (waiting_.empty()) return;
  under_way_.swap(waiting_);
  count_under_way_ = under_way_.size();
  if (call_.begin([this] { under_way_.clear(); })) return;
  under_way_.clear();
  count_under_way_ = 0;
}

void SlowDestruction::finish() {
  while (count() != 0) call_.wait();
}

std::size_t SlowDestruction::count() {
  go_on();
  return waiting_.size() + count_under_way_;
}

}  // namespace openlapi::verbs
