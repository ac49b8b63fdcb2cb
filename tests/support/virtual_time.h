// Virtual time: a clock and what is to happen when. Events of the same moment happen in the order of their planning, so
// that a run depends on nothing but its seed.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "tests/support/manual_clock.h"

namespace openlapi {

class VirtualTime {
 public:
  ManualClock& clock() { return clock_; }
  Nanoseconds now() const { return clock_.now(); }

  // A moment of the past means now.
  void at(Nanoseconds when, std::function<void()> event) {
    events_.push({when > now() ? when : now(), next_order_++, std::move(event)});
  }
  void after(Nanoseconds delay, std::function<void()> event) { at(now() + delay, std::move(event)); }

  // Turns the clock to the next event and lets it happen. False: there is none.
  bool run_next() {
    if (events_.empty()) return false;
    auto event = std::move(const_cast<Event&>(events_.top()));
    events_.pop();
    clock_.set(event.when);
    ++events_run_;
    event.happen();
    return true;
  }

  // Everything up to and including this moment.
  void run_until(Nanoseconds when) {
    while (!events_.empty() && events_.top().when <= when) run_next();
    clock_.set(when);
  }

  std::uint64_t events_run() const { return events_run_; }

 private:
  struct Event {
    Nanoseconds when;
    std::uint64_t order;
    std::function<void()> happen;
    bool operator<(const Event& other) const {  // priority_queue has the largest first
      return when != other.when ? when > other.when : order > other.order;
    }
  };

  ManualClock clock_;
  std::priority_queue<Event> events_;
  std::uint64_t next_order_ = 0;
  std::uint64_t events_run_ = 0;
};

}  // namespace openlapi
