#include "nic/verbs/retiring_queue_pairs.h"

#include <utility>

namespace openlapi::verbs {

void RetiringQueuePairs::add(std::unique_ptr<ReliableQueuePair> queue_pair, std::uint64_t now) {
  queue_pair->stop();
  retiring_.push_back({.queue_pair = std::move(queue_pair), .deadline = now + kLongestWait});
}

void RetiringQueuePairs::arrivals_were_taken(ibv_context& context, std::uint64_t now) {
  std::erase_if(retiring_, [](const Retiring& one) { return one.done; });
  if (retiring_.empty()) return;
  read_events(context);
  for (Retiring& one : retiring_) one.done = one.done || now >= one.deadline;
}

// All that wait: those of others, of which their completions tell as well, would be in the way. Each is acknowledged at
// once, as its queue pair cannot be destroyed before.
void RetiringQueuePairs::read_events(ibv_context& context) {
  ibv_async_event event{};
  while (ibv_get_async_event(&context, &event) == 0) {
    const bool last = event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED;
    for (Retiring& one : retiring_) {
      if (last && one.queue_pair->queue_pair() == event.element.qp) one.done = true;
    }
    ibv_ack_async_event(&event);
  }
}

}  // namespace openlapi::verbs
