#include "control/job/messages/fence_collector.h"

#include <gtest/gtest.h>

#include <numeric>

namespace openlapi::jobs {
namespace {

using Numbers = std::vector<std::uint32_t>;

// n7 and n9 report to n4, n4 and n5 to n0.
const std::vector<JobNode> kNodes{
    {0, "a", {0, 3}, 0}, {4, "b", {1}, 0}, {5, "c", {5}, 0}, {7, "d", {2, 4}, 4}, {9, "e", {6}, 4}};

TEST(FenceCollector, AFenceOfAllWaitsForAllBelowAlsoWithoutData) {
  FenceCollector inner(kNodes, 4);
  FenceCollector root(kNodes, 0);
  for (int round = 0; round < 2; ++round) {
    EXPECT_FALSE(inner.add(7, {}).has_value());
    EXPECT_FALSE(inner.add(4, {}).has_value());
    EXPECT_FALSE(inner.add(4, {}).has_value());
    EXPECT_FALSE(inner.add(5, {}).has_value());  // does not report here
    const auto upwards = inner.add(9, {});
    ASSERT_TRUE(upwards.has_value());
    EXPECT_FALSE(upwards->all_have_come);
    EXPECT_EQ(upwards->to, Numbers{0});
    EXPECT_EQ(upwards->data, FenceData{});
    EXPECT_FALSE(root.add(4, {}).has_value());
    EXPECT_FALSE(root.add(0, {}).has_value());
    const auto done = root.add(5, {});
    ASSERT_TRUE(done.has_value());
    EXPECT_TRUE(done->all_have_come);
    EXPECT_EQ(done->to, (Numbers{0, 4, 5, 7, 9}));
  }
}

TEST(FenceCollector, ANodeThatNobodyReportsToSendsAtOnce) {
  FenceCollector leaf(kNodes, 9);
  const auto step = leaf.add(9, {{}, {1}});
  ASSERT_TRUE(step.has_value());
  EXPECT_EQ(step->to, Numbers{4});
  EXPECT_EQ(step->data, (FenceData{{}, {1}}));
}

TEST(FenceCollector, DataOfAllIsSentOn) {
  FenceCollector inner(kNodes, 4);
  inner.add(9, {{}, {9, 9}});
  inner.add(7, {{}, {}});
  EXPECT_EQ(inner.add(4, {{}, {4}})->data.data, (MessageBytes{4, 9, 9}));
}

// Nodes between those that take part pass on what they are given.
TEST(FenceCollector, SomeTasksHaveAFenceOfTheirOwn) {
  FenceCollector root(kNodes, 0);
  FenceCollector inner(kNodes, 4);
  EXPECT_FALSE(root.add(0, {}).has_value());
  EXPECT_FALSE(root.add(0, {{3, 4}, {1}}).has_value());
  EXPECT_FALSE(root.add(5, {{3, 4}, {9}}).has_value());  // nobody there takes part
  const auto upwards = inner.add(7, {{3, 4}, {2}});
  ASSERT_TRUE(upwards.has_value());
  EXPECT_EQ(upwards->to, Numbers{0});
  const auto result = root.add(4, upwards->data);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->to, (Numbers{0, 7}));
  EXPECT_EQ(result->data, (FenceData{{3, 4}, {1, 2}}));
  EXPECT_EQ(inner.add(4, {{1}, {}})->to, Numbers{0});
  EXPECT_EQ(root.add(4, {{1}, {}})->to, Numbers{4});
}

}  // namespace
}  // namespace openlapi::jobs
