// Queue pairs that are being destroyed without taking slots of their shared receive queue with them.
//
// When a queue pair is destroyed, a provider may remove its unpolled completions from the completion queue (mlx4 and
// mlx5 do, soft-RoCE does not), and the slots of those arrivals would count as posted for ever. So a queue pair first
// goes into the error state, in which it takes no further slots. The adapter reports when it is done with the last one
// (IBV_EVENT_QP_LAST_WQE_REACHED). By then all its completions are in the completion queue, and once that has been
// found empty nothing can be lost. The kernel's ib_drain_qp() does the same.
// An adapter that does not report it (soft-RoCE) is given time instead, many times what it takes to fail a request. An
// adapter that refuses the error state is asked again, and keeps the queue pair until it agrees.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "nic/verbs/reliable_queue_pair.h"

namespace openlapi::verbs {

class RetiringQueuePairs {
 public:
  static constexpr std::uint64_t kLongestWait = 2000;  // milliseconds
  static constexpr std::size_t kMost = 128;            // queue pairs that a caller should let wait here

  // `now`: milliseconds, as for keep_time(). `done`: the adapter has reported its last slot already.
  void add(std::unique_ptr<ReliableQueuePair> queue_pair, std::uint64_t now, bool done = false);

  // The completion queue was found empty since the last calls of the other functions: destroys those that are done.
  void arrivals_were_taken();
  // The adapter is done with the last slot of this queue pair, which need not be one of these.
  void last_request_done(const ibv_qp& queue_pair);
  void keep_time(std::uint64_t now);

  std::size_t count() const { return retiring_.size(); }
  // Whether some will go within kLongestWait, provided that somebody keeps looking: nothing would wake a sleeper.
  bool want_looks() const;

 private:
  struct Retiring {
    std::unique_ptr<ReliableQueuePair> queue_pair;
    bool stopped;
    bool done;               // with the last slot
    std::uint64_t deadline;  // milliseconds; meaningful once it is stopped
  };

  std::vector<Retiring> retiring_;
};

}  // namespace openlapi::verbs
