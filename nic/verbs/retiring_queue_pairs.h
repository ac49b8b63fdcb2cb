// Queue pairs of a shared receive queue on their way out, so that none takes slots of that queue along.
//
// When a queue pair is destroyed, a provider may take its completions that nobody has polled yet out of the completion
// queue (mlx4 and mlx5 do, soft-RoCE does not), and the slots that these arrivals lie in would count as posted for
// ever. So a queue pair is put into the error state first, in which it takes no further slots. When it is done with the
// last one the adapter tells so (IBV_EVENT_QP_LAST_WQE_REACHED): then all that it had lies in the completion queue, and
// when that has been found empty afterwards nothing is left to be lost. The kernel's ib_drain_qp() goes the same way.
// An adapter that tells nothing (soft-RoCE) is given time instead, many times more than it takes to fail a request.
// One that refuses the error state is asked again, and keeps the queue pair until it consents.
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

  // `now` in milliseconds, like that of keep_time(). `done`: the adapter has told so before.
  void add(std::unique_ptr<ReliableQueuePair> queue_pair, std::uint64_t now, bool done = false);

  // The completion queue has been found empty since the last calls of the others: destroys those that are done.
  void arrivals_were_taken();
  // The adapter is done with the last slot of this one, which may be none of these.
  void last_request_done(const ibv_qp& queue_pair);
  void keep_time(std::uint64_t now);

  std::size_t count() const { return retiring_.size(); }
  // Whether some will go, within kLongestWait, if only somebody looks: nothing wakes who sleeps.
  bool want_looks() const;

 private:
  struct Retiring {
    std::unique_ptr<ReliableQueuePair> queue_pair;
    bool stopped;
    bool done;               // with the last slot
    std::uint64_t deadline;  // when it has been stopped
  };

  std::vector<Retiring> retiring_;
};

}  // namespace openlapi::verbs
