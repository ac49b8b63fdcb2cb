// How many idle steps pass between two looks at the clock: reading it costs as much as a whole step.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dataplane/tuning.h"

namespace openlapi {

class TimerPacing {
 public:
  explicit TimerPacing(std::uint32_t idle_steps) : most_(std::min(idle_steps, tuning::kIdleLoopsBetweenTimers)) {}

  // Counts one more step; true: look at the clock. After at most `most` steps without a look.
  bool is_due(std::uint32_t most = UINT32_MAX) { return ++idle_ >= std::min(most, most_) || hurries_; }
  void restart() { idle_ = 0; }
  // While on, every step looks.
  void hurry(bool on) { hurries_ = on; }
  // The next step looks.
  void look_soon() { idle_ = tuning::kIdleLoopsBetweenTimers; }

 private:
  const std::uint32_t most_;
  std::uint32_t idle_ = 0;
  bool hurries_ = false;
};

}  // namespace openlapi
