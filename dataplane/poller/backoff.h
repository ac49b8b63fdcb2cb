// What a user thread inside a call does between two fruitless polls: pause, then give the core away, then sleep.
// Measured on two cores with four polling tasks: pure spinning costs milliseconds as soon as the peer shares the core,
// sleeping early costs 10 to 36 us across cores, and 100 pauses followed by sched_yield is the best or nearly the best
// in every placement.
//
// It counts polls and never reads a clock. The dataplane thread has its own way (thread_pacing.h).
#pragma once

#include <cstdint>

#include "dataplane/base/cpu_pause.h"
#include "dataplane/transport/transport.h"
#include "dataplane/tuning.h"

namespace openlapi {

struct BackoffLimits {
  std::uint32_t pauses;  // polls with pauses in between (pause_before_poll())
  std::uint32_t yields;  // then polls with sched_yield() in between; after them sleep
};

// A user thread that waits inside a call. The first is for tasks that share cores, whose waiting delays the very peer
// that they wait for. The second, about a millisecond, is for those that own a core: a transfer of megabytes takes
// hundreds of microseconds, and a wait that slept through its end would pay the wake-up on top.
inline constexpr BackoffLimits kSharedCoreWait{12, 50};
inline constexpr BackoffLimits kOwnCoreWait{250, 3000};
// One who would rather leave the processor to others than be quick.
inline constexpr BackoffLimits kSleepAtOnce{0, 0};

// A few pauses, fewer if something arrives meanwhile: a look at one word costs less than a poll, so it is noticed
// sooner.
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

  // The step to take after one more fruitless poll.
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

// Whether each of `local_tasks` tasks of this node can have a core for itself. `allowed` is how many processors this
// task may use, `online` how many the node has: a launcher that pins tasks leaves each of them few.
constexpr bool owns_core(unsigned allowed, unsigned online, unsigned local_tasks) {
  return allowed >= local_tasks || (allowed < online && online >= local_tasks);
}

}  // namespace openlapi
