#include "bench/perf/statistics.h"

#include <gtest/gtest.h>

#include "bench/perf/runner.h"

namespace openlapi::bench {
namespace {

TEST(Percentile, NearestRank) {
  EXPECT_EQ(percentile({}, 0.5), 0);
  EXPECT_EQ(percentile({7}, 0.99), 7);
  EXPECT_EQ(percentile({5, 1, 4, 2, 3}, 0.5), 3);
  EXPECT_EQ(percentile({5, 1, 4, 2, 3}, 0), 1);
  EXPECT_EQ(percentile({5, 1, 4, 2, 3}, 1), 5);
  Samples hundred;
  for (int i = 100; i > 0; --i) hundred.push_back(i);
  EXPECT_EQ(percentile(hundred, 0.99), 99);
}

TEST(Compare, RatioIsOfNeighboursInTime) {
  // The machine changes its state between the slices; library and floor keep their ratio of 2 in each.
  const Comparison result = compare({{{10, 10}, {20, 20}}, {{100, 100}, {200, 200}}, {{10}, {20}}});
  EXPECT_DOUBLE_EQ(result.ratio, 2);
  EXPECT_DOUBLE_EQ(result.difference, 10);
  EXPECT_EQ(result.samples, 5u);
}

TEST(Compare, WithoutFloor) {
  const Comparison result = compare({{{}, {20}}, {{}, {30}}});
  EXPECT_EQ(result.floor, 0);
  EXPECT_EQ(result.ratio, 0);
  EXPECT_EQ(result.median, 20);
}

TEST(Compare, WithoutSamples) {
  const Comparison result = compare({{{10}, {}}});
  EXPECT_EQ(result.samples, 0u);
  EXPECT_EQ(result.ratio, 0);
}

TEST(Stopwatch, BatchesBecomeSamplesOfOneOperation) {
  Samples samples;
  int calls = 0;
  time_batches(10, 4, 2, &samples, [&] { ++calls; });
  EXPECT_EQ(calls, 12) << "whole batches";
  EXPECT_EQ(samples.size(), 3u);
}

TEST(Stopwatch, AgreesWithTheSystemsClock) {
  const std::uint64_t start = monotonic_nanoseconds();
  const std::uint64_t first = ticks();
  while (monotonic_nanoseconds() - start < 50'000'000) {
  }
  const double by_ticks = static_cast<double>(ticks() - first) * nanoseconds_per_tick();
  const auto by_system = static_cast<double>(monotonic_nanoseconds() - start);
  EXPECT_GT(by_ticks, by_system * 0.5);
  EXPECT_LT(by_ticks, by_system * 1.5);
}

TEST(RowIsOver, ALongRowEndsAfterTheFewestSlicesThatCanBeCompared) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  EXPECT_FALSE(row_is_over(0, 20, 60 * kSecond));
  EXPECT_FALSE(row_is_over(2, 20, 60 * kSecond));
  EXPECT_TRUE(row_is_over(3, 20, 11 * kSecond));
  EXPECT_FALSE(row_is_over(19, 20, 9 * kSecond));
  EXPECT_TRUE(row_is_over(20, 20, kSecond));
  EXPECT_TRUE(row_is_over(2, 2, 0));
}

// Whatever a machine's F is, it is that machine's usual state.
TEST(FlagBounds, AreOfWhatIsUsualOnThisMachine) {
  for (const double usual : {20.0, 66.0, 150.0, 900.0}) {
    const FlagBounds bounds{usual};
    EXPECT_TRUE(bounds.hold(usual));
    EXPECT_TRUE(bounds.hold(bounds.low()) && bounds.hold(bounds.high()));
    EXPECT_TRUE(bounds.hold(usual * 1.4) && bounds.hold(usual / 1.4));
    EXPECT_FALSE(bounds.hold(usual * 1.6) || bounds.hold(usual / 1.6)) << usual;
  }
}

}  // namespace
}  // namespace openlapi::bench
