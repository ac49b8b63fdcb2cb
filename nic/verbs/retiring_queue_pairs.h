// Queue pairs of a shared receive queue on their way out, so that none takes slots of that queue along.
//
// When a queue pair is destroyed, a provider may take its completions that nobody has polled yet out of the completion
// queue (mlx4 and mlx5 do, soft-RoCE does not), and the slots that these arrivals lie in would count as posted for
// ever. So a queue pair is put into the error state first, in which it takes no further slots. When it is done with the
// last one the adapter tells so (IBV_EVENT_QP_LAST_WQE_REACHED): then all that it had lies in the completion queue, and
// when that has been found empty afterwards nothing is left to be lost. The kernel's ib_drain_qp() goes the same way.
// An adapter that tells nothing (soft-RoCE) is given time instead, many times more than it takes to fail a request.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "nic/verbs/reliable_queue_pair.h"

namespace openlapi::verbs {

class RetiringQueuePairs {
 public:
  static constexpr std::uint64_t kLongestWait = 2000;  // milliseconds
  static constexpr std::size_t kMost = 128;            // for who adds to them to keep

  // `now` in milliseconds, like that of the other function.
  void add(std::unique_ptr<ReliableQueuePair> queue_pair, std::uint64_t now);

  // Since the call before, the completion queue has been found empty. Destroys the queue pairs that are done, and asks
  // the adapter, whose asynchronous events must not block, which ones that will be next time.
  void arrivals_were_taken(ibv_context& context, std::uint64_t now);

  std::size_t count() const { return retiring_.size(); }

 private:
  struct Retiring {
    std::unique_ptr<ReliableQueuePair> queue_pair;
    std::uint64_t deadline;
    bool done = false;  // with the last slot
  };

  void read_events(ibv_context& context);

  std::vector<Retiring> retiring_;
};

}  // namespace openlapi::verbs
