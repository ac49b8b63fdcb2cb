// When a daemon looks at its adapters. Passive.
#pragma once

#include <chrono>

namespace openlapi::daemon {

class LookTimes {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // At most three changes of a flapping adapter are told in this time.
  static constexpr std::chrono::milliseconds kFlapPause{10};

  // The daemon has just looked: `was_told` when the kernel had sent a notice, otherwise because it was time. Without
  // notices the next look comes after `quiet`. A second notice right behind the first (an interface comes up, then gets
  // its carrier) is looked at immediately, too; further ones wait for one look after a pause.
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
