// How many steps without anything to do go by until one looks at the clock: reading it costs as much as a whole step.
#pragma once

#include <cstdint>

#include "dataplane/tuning.h"

namespace openlapi {

class TimerPacing {
 public:
  // A step has nothing to do; true: it looks.
  bool is_due(std::uint32_t idle_steps) { return ++idle_ >= idle_steps; }
  void restart() { idle_ = 0; }
  // The next step looks.
  void look_soon() { idle_ = tuning::kIdleLoopsBetweenTimers; }

 private:
  std::uint32_t idle_ = 0;
};

}  // namespace openlapi
