// How many bytes a second a path brings to the peer, measured from acknowledgements. A sample lasts until all is
// acknowledged that was in flight at its beginning, so it tells what the path brings in a round trip. Samples that the
// path has limited count, each for as long as it took; others tell only what it brings at least.
#pragma once

#include <cstdint>

#include "dataplane/base/clock.h"
#include "dataplane/tuning.h"

namespace openlapi {

class DeliveryRate {
 public:
  // The first packet leaves over an idle path.
  void begin(Nanoseconds now) {
    since_ = now;
    bytes_ = awaited_ = 0;
  }
  // What is in flight counts as lost. That is no reason to forget the rate: a peer that waits for a core is silent,
  // too.
  void stop() { since_ = bytes_ = awaited_ = 0; }
  // What an acknowledgement says of the path.
  struct News {
    std::uint64_t bytes;      // acknowledged now,
    std::uint64_t in_flight;  // of so many
    bool limited;             // if more had been in flight, no more would have been acknowledged
    bool idle;                // nothing is in flight any more
    Nanoseconds longest;      // a sample that lasts longer tells enough
  };
  bool acknowledged(const News& news, Nanoseconds now);  // true: the rate has changed

  // By what is no sample.
  void is_used(Nanoseconds now) { taken_at_ = now; }
  bool is_in_sample() const { return awaited_ != 0; }  // something was acknowledged in it, which was not all

  std::uint64_t bytes_per_second() const { return rate_; }  // 0: not measured yet

  // For a path that nobody uses because it was found slow, perhaps at a bad moment. The rate becomes unknown when it
  // was measured so long ago that to measure it anew, with `bytes` that may be late, costs little beside that time:
  // less and less when it is found as slow each time. True: it has.
  bool forget_if_old(std::uint64_t bytes, Nanoseconds now);

  // How long `bytes` take; 0 while nothing is measured.
  Nanoseconds time_for(std::uint64_t bytes) const { return rate_ == 0 ? 0 : bytes * kSecond / rate_; }
  // How many bytes it brings in `time`, of at most a second.
  std::uint64_t bytes_in(Nanoseconds time) const { return rate_ * (time / kMicrosecond) / (kSecond / kMicrosecond); }

 private:
  static std::uint64_t per_second(std::uint64_t bytes, Nanoseconds time);
  void take(std::uint64_t bytes, Nanoseconds time, bool limited);

  std::uint64_t rate_ = 0;
  Nanoseconds taken_at_ = 0;
  Nanoseconds since_ = 0;      // the beginning of the present sample; 0: there is none
  std::uint64_t bytes_ = 0;    // acknowledged in it
  std::uint64_t awaited_ = 0;  // it ends with these; 0: nothing was acknowledged in it yet
  bool limited_ = false;
  std::uint64_t all_bytes_ = 0;               // of the samples that count,
  Nanoseconds all_time_ = 0;                  // which took so long: rate_ is the one by the other
  std::uint64_t forgotten_ = 0;               // the rate that was forgotten last
  unsigned trust_ = tuning::kFirstRateTrust;  // how many times as old as what it costs to measure it
};

}  // namespace openlapi
