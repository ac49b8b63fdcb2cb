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
  for (std::uint32_t round = 0; round < 2; ++round) {
    const FenceData nothing{{}, {}, round};
    EXPECT_FALSE(inner.add(7, nothing).has_value());
    EXPECT_FALSE(inner.add(4, nothing).has_value());
    EXPECT_FALSE(inner.add(4, nothing).has_value());
    EXPECT_FALSE(inner.add(5, nothing).has_value());  // does not report here
    const auto upwards = inner.add(9, nothing);
    ASSERT_TRUE(upwards.has_value());
    EXPECT_FALSE(upwards->all_have_come);
    EXPECT_EQ(upwards->to, Numbers{0});
    EXPECT_EQ(upwards->data, nothing);
    EXPECT_FALSE(root.add(4, nothing).has_value());
    EXPECT_FALSE(root.add(0, nothing).has_value());
    const auto done = root.add(5, nothing);
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

// The data of n4 has come to the root, and the end was lost on its way back; and n7 asks n4 before that knows.
TEST(FenceCollector, WhoAsksAgainIsAnswered) {
  FenceCollector root(kNodes, 0);
  FenceCollector inner(kNodes, 4);
  inner.add(4, {{}, {4}});
  inner.add(7, {{}, {7}});
  const auto upwards = inner.add(9, {{}, {9}});
  EXPECT_TRUE(root.unanswered().empty());
  ASSERT_EQ(inner.unanswered().size(), 1U);
  EXPECT_EQ(inner.unanswered()[0].to, Numbers{0});
  EXPECT_EQ(inner.unanswered()[0].data, upwards->data);
  root.add(0, {{}, {0}});
  root.add(5, {{}, {5}});
  EXPECT_TRUE(root.add(4, upwards->data)->all_have_come);
  EXPECT_FALSE(inner.add(7, {{}, {7}}).has_value());
  EXPECT_FALSE(inner.add(9, {{}, {}, 1}).has_value());  // it was told already
  const auto again = root.add(4, inner.unanswered()[0].data);
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(again->all_have_come);
  EXPECT_EQ(again->to, Numbers{4});
  EXPECT_EQ(again->data.data, (MessageBytes{0, 4, 7, 9, 5}));
  EXPECT_EQ(inner.result_of({}, 0), nullptr);
  EXPECT_EQ(inner.finish({{}, again->data.data, 0}), Numbers{7});
  EXPECT_TRUE(inner.unanswered().empty());
  ASSERT_NE(inner.result_of({}, 0), nullptr);
  EXPECT_EQ(inner.add(7, {{}, {7}})->to, Numbers{7});
  EXPECT_FALSE(inner.add(7, {{}, {}, 1}).has_value());
  EXPECT_TRUE(inner.add(4, {{}, {}, 1}).has_value()) << "what came early was kept";
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
