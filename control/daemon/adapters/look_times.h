// When a daemon looks at its adapters. Passive.
#pragma once

#include <chrono>

namespace openlapi::daemon {

class LookTimes {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // An adapter that flaps is told of three times in this at most.
  static constexpr std::chrono::milliseconds kFlapPause{10};

  // There was a look, as the kernel had told of something or as it was time; the next one comes after `quiet` if
  // nothing is told. What a notice follows on the heels of another, as an interface that is up gets its carrier, is
  // seen at once; then what happens is seen by one look after a pause.
  void looked(Time now, bool was_told, std::chrono::milliseconds quiet) {
    pauses_ = was_told && now - told_ < kFlapPause;
    next_ = now + (pauses_ ? kFlapPause : quiet);
    if (was_told) told_ = now;
  }
  // No notices are taken before next().
  bool pauses() const { return pauses_; }
  Time next() const { return next_; }

 private:
  Time next_{}, told_{};
  bool pauses_ = false;
};

}  // namespace openlapi::daemon
