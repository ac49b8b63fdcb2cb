// When a port that could not be set up anew is tried again: at pauses that grow, for a limited time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dataplane/base/clock.h"

namespace openlapi::dpdk {

class RenewalSchedule {
 public:
  static constexpr std::uint64_t kFirstPause = 50 * kMillisecond;
  static constexpr std::uint64_t kLongestPause = 5 * kSecond;

  // Times in nanoseconds. The first attempt is due at once.
  void begin(std::uint64_t now, std::uint64_t patience) {
    next_ = now;
    ends_ = now + patience;
    patience_ = patience;
    pause_ = kFirstPause;
  }
  bool is_due(std::uint64_t now) const { return now >= next_; }
  void attempt(std::uint64_t now) { attempt_ends_ = now + patience_; }
  // The attempt under way has taken as long as all may together: it is not to be expected to end.
  bool is_stuck(std::uint64_t now) const { return now >= attempt_ends_; }
  // An attempt has failed. False: it was the last one, made when the time was over.
  bool failed(std::uint64_t now) {
    if (now >= ends_) return false;
    next_ = std::min(now + pause_, ends_);
    pause_ = std::min(2 * pause_, kLongestPause);
    return true;
  }

 private:
  std::uint64_t next_ = 0;
  std::uint64_t ends_ = 0;
  std::uint64_t patience_ = 0;
  std::uint64_t attempt_ends_ = 0;
  std::uint64_t pause_ = kFirstPause;
};

}  // namespace openlapi::dpdk
