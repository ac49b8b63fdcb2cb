// How many bytes a second a path brings to the peer, measured from acknowledgements. A sample lasts until all is
// acknowledged that was in flight at its beginning, so it tells what the path brings in a round trip; one that began
// while the path had as much in flight as it may is limited by the path, others tell only what it brings at least. Of
// the limited ones the best of the last few counts: a peer that waits for a core makes single ones too small.
#pragma once

#include <cstdint>

#include "dataplane/base/clock.h"

namespace openlapi {

class DeliveryRate {
 public:
  // The first packet leaves over an idle path.
  void begin(Nanoseconds now) {
    since_ = now;
    bytes_ = awaited_ = 0;
  }
  // Of the `in_flight` bytes so many were acknowledged now. `limited`: that was as much as the path may have. `idle`:
  // nothing is in flight any more. True: the rate has changed.
  bool acknowledged(std::uint64_t bytes, std::uint64_t in_flight, bool limited, bool idle, Nanoseconds now);

  std::uint64_t bytes_per_second() const { return rate_; }  // 0: not measured yet

  // So much was in flight when a packet took so long: the path brings no more than that, give or take a quarter. It
  // takes a rate back at once that was measured while the path had tokens to spend, as shaped links have after a pause.
  // True: the rate has changed.
  bool queued(std::uint64_t in_flight, Nanoseconds round_trip);

  // For a path that nobody uses because it was found slow, perhaps at a bad moment. The rate becomes unknown when it
  // was measured so long ago that to measure it anew, with `bytes` that may be late, costs little beside that time.
  // True: it has.
  bool forget_if_old(std::uint64_t bytes, Nanoseconds now);

  // How long `bytes` take; 0 while nothing is measured.
  Nanoseconds time_for(std::uint64_t bytes) const { return rate_ == 0 ? 0 : bytes * kSecond / rate_; }
  // How many bytes it brings in `time`, of at most a second.
  std::uint64_t bytes_in(Nanoseconds time) const { return rate_ * (time / kMicrosecond) / (kSecond / kMicrosecond); }

 private:
  static std::uint64_t per_second(std::uint64_t bytes, Nanoseconds time);
  void take(std::uint64_t sample, bool limited, Nanoseconds now);

  std::uint64_t rate_ = 0;
  Nanoseconds taken_at_ = 0;
  Nanoseconds since_ = 0;      // the beginning of the present sample
  std::uint64_t bytes_ = 0;    // acknowledged in it
  std::uint64_t awaited_ = 0;  // it ends with these; 0: nothing was acknowledged in it yet
  bool limited_ = false;
  unsigned limited_samples_ = 0;  // since best_ was begun
  std::uint64_t best_ = 0;        // of these
};

}  // namespace openlapi
