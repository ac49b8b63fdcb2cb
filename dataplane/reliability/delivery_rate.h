// How many bytes a second a path brings to the peer, measured from acknowledgements while something is in flight all
// the time. Intervals in which the path had more to carry than it could say what it carries; others only say that it
// carries so much at least.
#pragma once

#include <cstdint>

#include "dataplane/base/clock.h"

namespace openlapi {

class DeliveryRate {
 public:
  // `bytes` were acknowledged now. `limited`: the path had as much in flight as it may; `more`: something still is.
  // An interval lasts `shortest` at least.
  void acknowledged(std::uint64_t bytes, bool limited, bool more, Nanoseconds shortest, Nanoseconds now);

  std::uint64_t bytes_per_second() const { return rate_; }  // 0: not measured yet

  // So much was in flight when a packet took so long: the path brings no more than that, give or take a quarter. It
  // takes a rate back at once that was measured while the path had tokens to spend, as shaped links have after a pause.
  void queued(std::uint64_t in_flight, Nanoseconds round_trip);

  // For a path that nobody uses because it was found slow, perhaps at a bad moment. The rate becomes unknown when it
  // was measured so long ago that to measure it anew, with `bytes` that may be late, costs little beside that time.
  void forget_if_old(std::uint64_t bytes, Nanoseconds now);

  // How long `bytes` take; 0 while nothing is measured.
  Nanoseconds time_for(std::uint64_t bytes) const { return rate_ == 0 ? 0 : bytes * kSecond / rate_; }
  // How many bytes it brings in `time`, of at most a second.
  std::uint64_t bytes_in(Nanoseconds time) const { return rate_ * (time / kMicrosecond) / (kSecond / kMicrosecond); }

 private:
  void take(std::uint64_t sample, bool limited, Nanoseconds now);

  std::uint64_t rate_ = 0;
  Nanoseconds taken_at_ = 0;
  std::uint64_t bytes_ = 0;  // acknowledged in the present interval
  Nanoseconds since_ = 0;    // its beginning; 0: there is none
  bool limited_ = true;      // all of it so far
};

}  // namespace openlapi
