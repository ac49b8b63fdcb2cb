#include "nic/verbs/retiring_queue_pairs.h"

#include <algorithm>
#include <utility>

namespace openlapi::verbs {

void RetiringQueuePairs::add(std::unique_ptr<ReliableQueuePair> queue_pair, std::uint64_t now, bool done) {
  const bool stopped = queue_pair->stop() == 0;
  retiring_.push_back(
      {.queue_pair = std::move(queue_pair), .stopped = stopped, .done = done, .deadline = now + kLongestWait});
}

void RetiringQueuePairs::arrivals_were_taken() {
  std::erase_if(retiring_, [](const Retiring& one) { return one.done; });
}

void RetiringQueuePairs::last_request_done(const ibv_qp& queue_pair) {
  for (Retiring& one : retiring_) {
    if (one.queue_pair->queue_pair() == &queue_pair) one.done = true;
  }
}

void RetiringQueuePairs::keep_time(std::uint64_t now) {
  for (Retiring& one : retiring_) {
    if (!one.stopped) {
      one.stopped = one.queue_pair->stop() == 0;
      one.deadline = now + kLongestWait;
    } else if (now >= one.deadline) {
      one.done = true;
    }
  }
}

bool RetiringQueuePairs::want_looks() const {
  return std::any_of(retiring_.begin(), retiring_.end(), [](const Retiring& one) { return one.stopped || one.done; });
}

}  // namespace openlapi::verbs
