// How many steps without anything to do go by until one looks at the clock: reading it costs as much as a whole step.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dataplane/tuning.h"

namespace openlapi {

class TimerPacing {
 public:
  explicit TimerPacing(std::uint32_t idle_steps) : most_(std::min(idle_steps, tuning::kIdleLoopsBetweenTimers)) {}

  // One more step; true: it looks, the latest after `most` steps without.
  bool is_due(std::uint32_t most = UINT32_MAX) { return ++idle_ >= std::min(most, most_) || hurries_; }
  void restart() { idle_ = 0; }
  // Every step looks, as long as that holds.
  void hurry(bool on) { hurries_ = on; }
  // The next step looks.
  void look_soon() { idle_ = tuning::kIdleLoopsBetweenTimers; }

 private:
  const std::uint32_t most_;
  std::uint32_t idle_ = 0;
  bool hurries_ = false;
};

}  // namespace openlapi
