#include "control/jobs/fence_collector.h"

#include <gtest/gtest.h>

namespace openlapi::jobs {
namespace {

using Numbers = std::vector<std::uint32_t>;

const std::vector<JobNode> kNodes{{0, "a", {0, 3}}, {4, "b", {1}}, {7, "c", {2, 4}}};

TEST(FenceCollector, AFenceOfAllWaitsForAllNodesAlsoWithoutData) {
  FenceCollector fences(kNodes);
  for (int round = 0; round < 2; ++round) {
    EXPECT_FALSE(fences.add(7, {}).has_value());
    EXPECT_FALSE(fences.add(0, {}).has_value());
    EXPECT_FALSE(fences.add(0, {}).has_value());
    const auto result = fences.add(4, {});
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->nodes, (Numbers{0, 4, 7}));
    EXPECT_EQ(result->done, FenceDone{});
  }
}

TEST(FenceCollector, DataFollowsInTheOrderOfNodes) {
  FenceCollector fences(kNodes);
  fences.add(7, {{}, {7, 7}});
  fences.add(4, {{}, {}});
  EXPECT_EQ(fences.add(0, {{}, {1}})->done.data, (MessageBytes{1, 7, 7}));
}

TEST(FenceCollector, SomeTasksHaveAFenceOfTheirOwn) {
  FenceCollector fences(kNodes);
  EXPECT_FALSE(fences.add(0, {}).has_value());
  EXPECT_FALSE(fences.add(0, {{3, 4}, {1}}).has_value());
  EXPECT_FALSE(fences.add(4, {{3, 4}, {9}}).has_value());  // it has none of them
  const auto result = fences.add(7, {{3, 4}, {2}});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->nodes, (Numbers{0, 7}));
  EXPECT_EQ(result->done, (FenceDone{{3, 4}, {1, 2}}));
  EXPECT_EQ(fences.add(4, {{1}, {}})->nodes, Numbers{4});
}

}  // namespace
}  // namespace openlapi::jobs
