// What a user thread inside a call does between fruitless polls: it pauses, then yields the core, then sleeps. Measured
// with four polling tasks on two cores: pure spinning costs milliseconds once the peer shares the core; sleeping early
// costs 10 to 36 us across cores; 100 pauses followed by sched_yield() is best or nearly best in every placement.
//
// Counts polls and never reads a clock. The dataplane thread follows other rules (thread_pacing.h).
#pragma once

#include <cstdint>

#include "dataplane/base/cpu_pause.h"
#include "dataplane/transport/transport.h"
#include "dataplane/tuning.h"

namespace openlapi {

struct BackoffLimits {
  std::uint32_t pauses;  // polls with pauses between them (pause_before_poll())
  std::uint32_t yields;  // then polls with sched_yield() between them; then sleep
};

// For a user thread that waits inside a call. The first is for tasks that share cores, whose waiting delays the very
// peer that they wait for. The second, about a millisecond, is for tasks that own a core: a transfer of megabytes takes
// hundreds of microseconds, and a wait that slept past its end would pay for the wake-up as well.
inline constexpr BackoffLimits kSharedCoreWait{12, 50};
inline constexpr BackoffLimits kOwnCoreWait{250, 3000};
// For threads that would rather leave the processor to others than react quickly.
inline constexpr BackoffLimits kSleepAtOnce{0, 0};

// Some pauses, fewer if something arrives meanwhile: looking at one word costs less than a poll, so arrivals are
// noticed sooner.
inline void pause_before_poll(const ArrivalWord& next) {
  if (next.word == nullptr) return;
  cpu_pause();
  for (unsigned looks = 1; looks < tuning::kLooksBetweenPolls; ++looks) {
    // Relaxed: whoever polls then looks again, with acquire.
    if (next.word->load(std::memory_order_relaxed) != next.empty) return;
    cpu_pause();
  }
}

enum class BackoffStep : std::uint8_t { pause, yield, sleep };

class Backoff {
 public:
  explicit Backoff(BackoffLimits limits) : limits_(limits) {}

  // What to do after one more fruitless poll.
  BackoffStep next() {
    if (fruitless_ < limits_.pauses) {
      ++fruitless_;
      return BackoffStep::pause;
    }
    if (fruitless_ < limits_.pauses + limits_.yields) {
      ++fruitless_;
      return BackoffStep::yield;
    }
    return BackoffStep::sleep;
  }

  // A poll found something.
  void reset() { fruitless_ = 0; }

 private:
  BackoffLimits limits_;
  std::uint32_t fruitless_ = 0;
};

// Whether each of `local_tasks` tasks of this node can have a core for itself. `allowed`: processors that this task may
// use; `online`: processors of the node. A launcher that pins tasks leaves each of them only a few.
constexpr bool owns_core(unsigned allowed, unsigned online, unsigned local_tasks) {
  return allowed >= local_tasks || (allowed < online && online >= local_tasks);
}

}  // namespace openlapi
