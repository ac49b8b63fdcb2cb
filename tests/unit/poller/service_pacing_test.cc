// What the dataplane thread does when nothing arrives, by a clock that is turned by hand.
#include "dataplane/poller/service_pacing.h"

#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"

namespace openlapi {
namespace {

class Pacing {
 public:
  explicit Pacing(const ServiceLimits& limits) : pacing(limits) {}

  // The step after a fruitless poll that took `poll`.
  BackoffStep step(Nanoseconds poll = 100) {
    clock.advance(poll);
    return pacing.next([this] {
      ++looks;
      return clock.now();
    });
  }
  // Fruitless time until it sleeps.
  Nanoseconds until_sleep() {
    const Nanoseconds begin = clock.now();
    while (step() != BackoffStep::sleep) {
    }
    return clock.now() - begin;
  }

  ManualClock clock;
  ServicePacing pacing;
  int looks = 0;
};

constexpr Nanoseconds kSpin = 20 * kMicrosecond;
constexpr Nanoseconds kLookApart = ServicePacing::kPollsPerLook * 100;  // with polls as above

TEST(ServicePacingTest, AdaptiveSpinsForItsTimeThenSleeps) {
  Pacing adaptive({ThreadPolicy::adaptive, kSpin});
  const Nanoseconds spun = adaptive.until_sleep();
  EXPECT_GE(spun, kSpin);
  EXPECT_LE(spun, kSpin + 2 * kLookApart);
}

TEST(ServicePacingTest, TheClockIsReadSeldom) {
  Pacing adaptive({ThreadPolicy::adaptive, kSpin});
  adaptive.until_sleep();
  EXPECT_LE(adaptive.looks, static_cast<int>(kSpin / kLookApart) + 2);
}

TEST(ServicePacingTest, WorkBeginsTheSpinAnew) {
  Pacing adaptive({ThreadPolicy::adaptive, kSpin});
  for (int round = 0; round < 10; ++round) {
    const Nanoseconds half = adaptive.clock.now() + kSpin / 2;
    while (adaptive.clock.now() < half) EXPECT_EQ(adaptive.step(), BackoffStep::pause);
    adaptive.pacing.worked();
  }
  EXPECT_GE(adaptive.until_sleep(), kSpin);
}

TEST(ServicePacingTest, WakingUpForNothingIsNoReasonToSpin) {
  Pacing adaptive({ThreadPolicy::adaptive, kSpin});
  adaptive.until_sleep();
  adaptive.pacing.slept();
  EXPECT_EQ(adaptive.step(), BackoffStep::sleep);
  adaptive.pacing.slept();
  adaptive.pacing.worked();
  EXPECT_GE(adaptive.until_sleep(), kSpin);
}

TEST(ServicePacingTest, WhoIsKeptAwakeSpinsBeforeItTriesAgain) {
  Pacing adaptive({ThreadPolicy::adaptive, kSpin});
  adaptive.until_sleep();
  adaptive.pacing.kept_awake();
  EXPECT_GE(adaptive.until_sleep(), kSpin);
}

TEST(ServicePacingTest, SleepSleepsAtOnce) {
  Pacing sleep({ThreadPolicy::sleep, kSpin});
  EXPECT_EQ(sleep.step(), BackoffStep::sleep);
  sleep.pacing.worked();
  EXPECT_EQ(sleep.step(), BackoffStep::sleep);
  EXPECT_EQ(sleep.looks, 0);
}

TEST(ServicePacingTest, SpinNeverSleeps) {
  Pacing alone({ThreadPolicy::spin, kSpin, false});
  for (int poll = 0; poll < 100'000; ++poll) ASSERT_EQ(alone.step(), BackoffStep::pause);
  EXPECT_EQ(alone.looks, 0);
}

TEST(ServicePacingTest, SpinGivesASharedCoreAway) {
  Pacing shared({ThreadPolicy::spin, kSpin, true});
  int yields = 0;
  for (int poll = 0; poll < 8'000; ++poll) {
    const BackoffStep step = shared.step();
    ASSERT_NE(step, BackoffStep::sleep);
    yields += step == BackoffStep::yield ? 1 : 0;
  }
  EXPECT_EQ(yields, 8'000 / static_cast<int>(ServicePacing::kPollsPerLook));
}

TEST(ServicePacingTest, TimedSleepsGrowUntilSomethingArrives) {
  Pacing adaptive({ThreadPolicy::adaptive, kSpin});
  Nanoseconds before = adaptive.pacing.take_blind_sleep();
  EXPECT_EQ(before, kFirstBlindSleep);
  for (int sleeps = 0; sleeps < 20; ++sleeps) {
    adaptive.pacing.slept();
    EXPECT_EQ(adaptive.step(), BackoffStep::sleep);
    const Nanoseconds next = adaptive.pacing.take_blind_sleep();
    EXPECT_EQ(next, std::min(2 * before, kLongestBlindSleep));
    before = next;
  }
  EXPECT_EQ(before, kLongestBlindSleep);
  adaptive.pacing.worked();
  EXPECT_EQ(adaptive.pacing.take_blind_sleep(), kFirstBlindSleep);
}

}  // namespace
}  // namespace openlapi
