// The engine's clock beside the system's.
#include "dataplane/base/monotonic_clock.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

namespace openlapi {
namespace {

struct Look {
  Nanoseconds before, time, after;
};

Look look_at(const MonotonicClock& clock) {
  Look look{};
  look.before = system_monotonic_time();
  look.time = clock.now();
  look.after = system_monotonic_time();
  return look;
}

// However long the test is kept waiting: the system's clock is read on both sides.
void expect_same_pace(const MonotonicClock& clock, Nanoseconds length) {
  const Look first = look_at(clock);
  while (system_monotonic_time() - first.after < length) {
  }
  const Look last = look_at(clock);
  const Nanoseconds passed = last.time - first.time;
  EXPECT_GE(passed + passed / 500, last.before - first.after);
  EXPECT_LE(passed - passed / 500, last.after - first.before);
}

#if defined(__x86_64__)
// The first test: a process looks once.
TEST(MonotonicClock, CountsNoTicksWhereAProcessMayNotReadThem) {
  EXPECT_EXIT(
      {
        if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV) != 0) _exit(2);
        const MonotonicClock clock;
        _exit(clock.counts_ticks() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}
#endif

TEST(MonotonicClock, KeepsThePaceOfTheSystems) { expect_same_pace(MonotonicClock(), 50 * kMillisecond); }

TEST(MonotonicClock, IsTheSystemsWhereTicksDoNotTellTheTime) {
  const MonotonicClock clock(TickScale{});
  EXPECT_FALSE(clock.counts_ticks());
  const Look look = look_at(clock);
  EXPECT_LE(look.before, look.time);
  EXPECT_LE(look.time, look.after);
  expect_same_pace(clock, kMillisecond);
}

TEST(MonotonicClock, CountsTicksOnlyWhereTheKernelDoes) {
  std::string source;
  std::ifstream("/sys/devices/system/clocksource/clocksource0/current_clocksource") >> source;
#if defined(__x86_64__)
  EXPECT_EQ(MonotonicClock().counts_ticks(), source == "tsc");
#else
  EXPECT_FALSE(MonotonicClock().counts_ticks());
#endif
}

// Also from one thread to another: what one has written down is past for the one that reads it.
TEST(MonotonicClock, NeverGoesBack) {
  const MonotonicClock clock;
  constexpr unsigned kTurns = 20'000;
  std::atomic<Nanoseconds> written{0};
  std::atomic<unsigned> turn{0};
  std::atomic<unsigned> back{0};
  const auto play = [&](unsigned side) {
    for (unsigned number = side; number < kTurns; number += 2) {
      while (turn.load(std::memory_order_acquire) != number) std::this_thread::yield();
      const Nanoseconds now = clock.now();
      if (now < written.load(std::memory_order_relaxed)) ++back;
      written.store(now, std::memory_order_relaxed);
      turn.store(number + 1, std::memory_order_release);
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  EXPECT_EQ(back, 0u);
}

}  // namespace
}  // namespace openlapi
