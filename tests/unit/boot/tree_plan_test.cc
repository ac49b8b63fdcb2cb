// The shape of boot trees.
#include "control/boot/tree/tree_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace openlapi::boot {
namespace {

// Rounds until all are started when every process launches its children in this order.
int rounds_of(const TreeShape& shape, int count) {
  int last = 0, child = 0;
  for (const int size : split_tree(shape, count)) {
    last = std::max(last, child++ / shape.at_once + 1 + rounds_of(shape, size - 1));
  }
  return last;
}

TEST(TreePlan, SplitsAllNodesAmongAtMostAsManyChildrenAsAllowed) {
  for (const int at_once : {1, 3, 16}) {
    for (const int degree : {1, 2, 5, 16}) {
      for (int count = 0; count <= 200; ++count) {
        const TreeShape shape{degree, at_once};
        const std::vector<int> sizes = split_tree(shape, count);
        ASSERT_LE(sizes.size(), static_cast<std::size_t>(degree));
        ASSERT_EQ(std::accumulate(sizes.begin(), sizes.end(), 0), count);
        ASSERT_EQ(rounds_of(shape, count), tree_rounds(shape, count)) << degree << " " << at_once << " " << count;
      }
    }
  }
}

TEST(TreePlan, GivesTheFirstChildMost) {
  EXPECT_EQ(split_tree({3, 1}, 7), (std::vector<int>{4, 2, 1}));
  EXPECT_EQ(split_tree({16, 16}, 63), (std::vector<int>{17, 17, 17, 12}));
  EXPECT_EQ(split_tree({16, 16}, 5), (std::vector<int>{1, 1, 1, 1, 1}));
  EXPECT_EQ(split_tree({1, 1}, 3), (std::vector<int>{3}));
}

TEST(TreePlan, ChoosesTheDegreeFromTheNumberOfNodes) {
  EXPECT_EQ(tree_degree(0, 1), 1);
  EXPECT_EQ(tree_degree(1, 1), 1);
  EXPECT_EQ(tree_degree(63, 1), 6);
  EXPECT_EQ(tree_degree(64, 1), 7);
  EXPECT_EQ(tree_degree(16, 16), 16);
  EXPECT_EQ(tree_degree(17, 16), 32);
}

// 64 hosts: at most 9 delays as a tree, 4 with launches at the same time.
TEST(TreePlan, NeedsFewRounds) {
  EXPECT_EQ(tree_rounds({tree_degree(63, 1), 1}, 63), 6);
  EXPECT_EQ(tree_rounds({tree_degree(63, 16), 16}, 63), 2);
  EXPECT_EQ(tree_rounds({tree_degree(2047, 1), 1}, 2047), 11);
  EXPECT_EQ(tree_rounds({2, 1}, 63), 8);
}

}  // namespace
}  // namespace openlapi::boot
