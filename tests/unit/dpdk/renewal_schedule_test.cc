#include "nic/dpdk/renewal_schedule.h"

#include <gtest/gtest.h>

#include <vector>

namespace openlapi::dpdk {
namespace {

// Times at which attempts are due that take `each` and fail.
std::vector<std::uint64_t> attempts(std::uint64_t patience, std::uint64_t each) {
  constexpr std::uint64_t kBegin = 7 * kSecond;
  RenewalSchedule schedule;
  schedule.begin(kBegin, patience);
  std::vector<std::uint64_t> times;
  std::uint64_t now = kBegin;
  do {
    while (!schedule.is_due(now)) now += kMillisecond;
    times.push_back((now - kBegin) / kMillisecond);
    now += each;
  } while (schedule.failed(now));
  return times;
}

TEST(RenewalSchedule, PausesGrowUpToALimitAndTheLastAttemptIsAtTheEnd) {
  EXPECT_EQ(attempts(kSecond, 0), (std::vector<std::uint64_t>{0, 50, 150, 350, 750, 1000}));
  const std::vector<std::uint64_t> long_ones = attempts(60 * kSecond, 0);
  EXPECT_EQ(long_ones.back(), 60'000u);
  for (std::size_t i = 2; i < long_ones.size(); ++i) {
    EXPECT_LE(long_ones[i] - long_ones[i - 1], RenewalSchedule::kLongestPause / kMillisecond);
  }
  EXPECT_LT(long_ones.size(), 22u);
}

TEST(RenewalSchedule, TimeThatAttemptsTakeCounts) {
  EXPECT_EQ(attempts(kSecond, 400 * kMillisecond), (std::vector<std::uint64_t>{0, 450, 950}));
  EXPECT_EQ(attempts(0, 0), (std::vector<std::uint64_t>{0})) << "one attempt there is";
}

TEST(RenewalSchedule, AnAttemptThatTakesAllTheTimeIsStuckAndTheLastOneHasAsMuch) {
  RenewalSchedule schedule;
  schedule.begin(kSecond, 10 * kSecond);
  for (const std::uint64_t start : {1 * kSecond, 11 * kSecond}) {
    schedule.attempt(start);
    EXPECT_FALSE(schedule.is_stuck(start + 10 * kSecond - 1));
    EXPECT_TRUE(schedule.is_stuck(start + 10 * kSecond));
  }
}

TEST(RenewalSchedule, BeginsAnew) {
  RenewalSchedule schedule;
  schedule.begin(0, kSecond);
  ASSERT_TRUE(schedule.failed(0));
  ASSERT_TRUE(schedule.failed(0));
  EXPECT_FALSE(schedule.is_due(RenewalSchedule::kFirstPause));
  schedule.begin(kSecond, kSecond);
  EXPECT_TRUE(schedule.is_due(kSecond));
  ASSERT_TRUE(schedule.failed(kSecond));
  EXPECT_TRUE(schedule.is_due(kSecond + RenewalSchedule::kFirstPause));
}

}  // namespace
}  // namespace openlapi::dpdk
