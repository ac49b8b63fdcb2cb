// When probes of all paths leave, and what their answers tell.
#include "dataplane/paths/path_comparison.h"

#include <gtest/gtest.h>

#include <array>

#include "dataplane/tuning.h"

namespace openlapi {
namespace {

class PathComparisonTest : public testing::Test {
 protected:
  bool begin() {
    now_ += tuning::kComparisonPause;
    packets_ += tuning::kComparisonPackets;
    return comparison_.begins(packets_, now_);
  }
  // Probes leave, and are answered after these times. Whether all is known now.
  bool round(const std::array<Nanoseconds, 2>& times) {
    EXPECT_TRUE(begin());
    bool known = false;
    for (unsigned path = 0; path != 2; ++path) comparison_.probed(path, now_);
    for (unsigned path = 0; path != 2; ++path) known = comparison_.answered(path, now_ + times[path]);
    return known;
  }

  PathComparison comparison_{2};
  Nanoseconds now_ = kSecond;
  std::uint64_t packets_ = 0;
};

TEST_F(PathComparisonTest, TheShortestOfSomeRoundTripsCounts) {
  for (unsigned n = 1; n != tuning::kComparisonRounds; ++n) EXPECT_FALSE(round({100 + n, 200}));
  EXPECT_TRUE(round({500, 199}));
  EXPECT_EQ(comparison_.round_trip(0), 101u);
  EXPECT_EQ(comparison_.round_trip(1), 199u);
  comparison_.forget();
  EXPECT_FALSE(round({500, 199}));
}

TEST_F(PathComparisonTest, NothingIsProbedForAFewPackets) {
  EXPECT_FALSE(comparison_.begins(tuning::kComparisonPackets - 1, now_));
  EXPECT_TRUE(comparison_.begins(tuning::kComparisonPackets, now_));
  EXPECT_FALSE(comparison_.begins(2 * tuning::kComparisonPackets - 1, now_)) << "since then";
  EXPECT_EQ(comparison_.due(), now_ + tuning::kComparisonPause);
}

// It may come when the next one is waited for.
TEST_F(PathComparisonTest, AnAnswerThatDoesNotComeBeginsAllAnew) {
  for (unsigned n = 1; n != tuning::kComparisonRounds; ++n) EXPECT_FALSE(round({100, 200}));
  ASSERT_TRUE(begin());
  for (unsigned path = 0; path != 2; ++path) comparison_.probed(path, now_);
  EXPECT_FALSE(comparison_.answered(0, now_ + 100));
  EXPECT_FALSE(begin());
  EXPECT_FALSE(comparison_.answered(1, now_ + 100)) << "it is waited for no more";
  for (unsigned n = 1; n != tuning::kComparisonRounds; ++n) EXPECT_FALSE(round({100, 200}));
  EXPECT_TRUE(round({100, 200}));
}

TEST_F(PathComparisonTest, APathThatTakesNoProbeIsNotCompared) {
  for (unsigned n = 0; n != 2 * tuning::kComparisonRounds; ++n) {
    ASSERT_TRUE(begin());
    comparison_.probed(0, now_);
    EXPECT_FALSE(comparison_.answered(0, now_ + 100));
  }
}

}  // namespace
}  // namespace openlapi
