// The user's counters as the engine moves them, and those of operations that were given up.
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

  // A counter of this task moves because of an operation from or to `by`.
  [[gnu::always_inline]] void move(std::uint64_t counter, PeerIndex by) {
    if (watched_ && counter != 0) [[unlikely]]
      host_.counter_moves(counter, by);
    add_to_counter(counter);
  }

  // From now on the host hears of each, or no longer.
  void watch(bool on) { watched_ = on; }

  // Nobody will move it any more for an operation that was given up.
  void lose(std::uint64_t counter, CounterLoss why) { lost_.add(counter, why); }
  CounterLoss loss_of(std::uint64_t counter) const { return lost_.find(counter); }
  void forget_loss(std::uint64_t counter) { lost_.forget(counter); }

 private:
  HandlerHost& host_;
  bool watched_ = false;
  LostCounters lost_;
};

}  // namespace openlapi
