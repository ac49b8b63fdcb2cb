// When the dataplane thread looks after a context in polling mode: now and then as long as somebody makes steps or
// something is unacknowledged, and then more and more seldom. A look that finds steps takes a wake-up, and no lock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "dataplane/base/clock.h"
#include "dataplane/tuning.h"

namespace openlapi {

class UpkeepPacing {
 public:
  // Whether nobody has made a step since the last look. `steps`: so far.
  bool is_neglected(std::uint32_t steps) { return std::exchange(steps_seen_, steps) == steps; }

  // How long to sleep now.
  Nanoseconds usual_pause() { return pause_ = tuning::kUpkeepPause; }
  Nanoseconds pause_when_all_is_quiet() {
    return pause_ = std::min<Nanoseconds>(2 * pause_, tuning::kLongestUpkeepPause);
  }

 private:
  std::uint32_t steps_seen_ = 0;
  Nanoseconds pause_ = tuning::kUpkeepPause;
};

}  // namespace openlapi
