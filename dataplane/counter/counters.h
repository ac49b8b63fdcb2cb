// The user's counters: moves them, and remembers those that will not be moved because operations were given up.
#pragma once

#include <cstdint>

#include "dataplane/counter/completion_counter.h"
#include "dataplane/counter/lost_counters.h"
#include "dataplane/host/handler_host.h"
#include "dataplane/transport/packet.h"

namespace openlapi {

class Counters {
 public:
  explicit Counters(HandlerHost& host) : host_(host) {}

  // Moves a counter of this task because of an operation from or to `by`.
  [[gnu::always_inline]] void move(std::uint64_t counter, PeerIndex by) {
    if (watched_ && counter != 0) [[unlikely]]
      host_.counter_moves(counter, by);
    add_to_counter(counter);
  }

  // Whether the host is told of each move from now on.
  void watch(bool on) { watched_ = on; }

  // The counter will not be moved for an operation that was given up.
  void lose(std::uint64_t counter, CounterLoss why) { lost_.add(counter, why); }
  CounterLoss loss_of(std::uint64_t counter) const { return lost_.find(counter); }
  void forget_loss(std::uint64_t counter) { lost_.forget(counter); }

 private:
  HandlerHost& host_;
  bool watched_ = false;
  LostCounters lost_;
};

}  // namespace openlapi
