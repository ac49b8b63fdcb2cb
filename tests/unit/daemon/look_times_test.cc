#include "control/daemon/adapters/look_times.h"

#include <gtest/gtest.h>

namespace openlapi::daemon {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kQuiet{60'000};

TEST(LookTimes, TwoNoticesOneAfterTheOtherAreTakenAtOnce) {
  LookTimes times;
  LookTimes::Time now{std::chrono::hours(1)};
  times.looked(now, false, kQuiet);
  EXPECT_EQ(times.next(), now + kQuiet);
  times.looked(now += milliseconds(50), true, kQuiet);
  EXPECT_FALSE(times.pauses());
  EXPECT_EQ(times.next(), now + kQuiet);
  times.looked(now += milliseconds(1), true, kQuiet);
  EXPECT_TRUE(times.pauses());
  EXPECT_EQ(times.next(), now + LookTimes::kFlapPause);
  times.looked(now += LookTimes::kFlapPause, false, kQuiet);
  EXPECT_FALSE(times.pauses());
}

TEST(LookTimes, WhatFlapsIsSeldomLookedAt) {
  LookTimes times;
  LookTimes::Time now{std::chrono::hours(1)};
  times.looked(now, false, kQuiet);
  int looks = 0;
  for (const LookTimes::Time end = now + std::chrono::seconds(1); now < end; now += milliseconds(1)) {
    if (now < times.next() && times.pauses()) continue;
    times.looked(now, now < times.next(), kQuiet);
    ++looks;
  }
  EXPECT_GT(looks, 100);
  EXPECT_LE(looks, 310);
}

}  // namespace
}  // namespace openlapi::daemon
