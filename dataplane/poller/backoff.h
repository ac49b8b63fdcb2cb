// What a thread does between two fruitless polls: pause, then give the core away, then sleep. Measured on two cores
// with four polling tasks: pure spinning costs milliseconds as soon as the peer shares the core, sleeping early costs
// 10 to 36 us across cores, and 100 pauses followed by sched_yield is the best or nearly the best in every placement.
//
// It counts polls and never reads a clock.
#pragma once

#include <cstdint>

namespace openlapi {

struct BackoffLimits {
  std::uint32_t pauses;  // polls with a pause instruction in between
  std::uint32_t yields;  // then polls with sched_yield() in between; after them sleep
};

// A user thread that waits inside a call. The first is for tasks that share cores, the second for those that own one:
// whoever shares delays the very peer it waits for.
inline constexpr BackoffLimits kSharedCoreWait{100, 50};
inline constexpr BackoffLimits kOwnCoreWait{2000, 200};

// The dataplane thread after the last traffic. No yields: with a computing thread on its core a yield costs a whole
// time slice, whereas a sleeper is woken at once.
inline constexpr BackoffLimits kSharedCoreService{400, 0};  // about 20 us
inline constexpr BackoffLimits kOwnCoreService{1500, 0};    // about 50 us

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

inline void cpu_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#else
  asm volatile("" ::: "memory");
#endif
}

// Whether each of `local_tasks` tasks of this node can have a core for itself. `allowed` is how many processors this
// task may use, `online` how many the node has: a launcher that pins tasks leaves each of them few.
constexpr bool owns_core(unsigned allowed, unsigned online, unsigned local_tasks) {
  return allowed >= local_tasks || (allowed < online && online >= local_tasks);
}

}  // namespace openlapi
