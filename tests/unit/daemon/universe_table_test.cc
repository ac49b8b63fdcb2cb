#include "control/daemon/universe_table.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <stdexcept>

namespace openlapi::daemon {
namespace {

std::vector<UniverseNode> members(std::uint32_t count) {
  std::vector<UniverseNode> nodes(count);
  for (UniverseNode& node : nodes) node.state = NodeState::kMember;
  return nodes;
}

using Nodes = std::vector<std::uint32_t>;

TEST(UniverseTable, TheOriginIsTheRootAndTheOthersFollow) {
  const UniverseTable root(members(7), 3, 3, 2);
  EXPECT_EQ(root.parent(), std::nullopt);
  EXPECT_EQ(root.children(), (Nodes{0, 1}));
  const UniverseTable inner(members(7), 3, 0, 2);
  EXPECT_EQ(inner.parent(), 3u);
  EXPECT_EQ(inner.children(), (Nodes{2, 4}));
  const UniverseTable leaf(members(7), 3, 6, 2);
  EXPECT_EQ(leaf.parent(), 1u);
  EXPECT_TRUE(leaf.children().empty());
}

TEST(UniverseTable, InvalidNodesHaveNoPlace) {
  auto nodes = members(4);
  nodes[1].state = NodeState::kInvalid;
  const UniverseTable table(nodes, 0, 0, 2);
  EXPECT_EQ(table.children(), (Nodes{2, 3}));
  EXPECT_FALSE(table.is_member(1));
  EXPECT_TRUE(table.lost().empty());
}

TEST(UniverseTable, ChildrenOfALostNodeGoToItsNearestLivingAncestor) {
  UniverseTable table(members(7), 0, 5, 2);
  EXPECT_EQ(table.parent(), 2u);
  EXPECT_TRUE(table.set_lost(2));
  EXPECT_FALSE(table.set_lost(2));
  EXPECT_EQ(table.parent(), 0u);
  UniverseTable root(members(7), 0, 0, 2);
  root.set_lost(2);
  EXPECT_EQ(root.children(), (Nodes{1, 5, 6}));
  EXPECT_EQ(root.lost(), Nodes{2});
}

TEST(UniverseTable, WithoutTheRootTheFirstThatLivesIsTheRoot) {
  UniverseTable first(members(4), 0, 1, 2);
  first.set_lost(0);
  EXPECT_EQ(first.parent(), std::nullopt);
  EXPECT_EQ(first.children(), (Nodes{2, 3}));
  UniverseTable second(members(4), 0, 2, 2);
  second.set_lost(0);
  EXPECT_EQ(second.parent(), 1u);
}

TEST(UniverseTable, WhatIsNoNodeIsRefused) {
  EXPECT_THROW(UniverseTable({}, 0, 0), std::invalid_argument);
  EXPECT_THROW(UniverseTable(members(3), 0, 3), std::invalid_argument);
  EXPECT_THROW(UniverseTable(members(3), 3, 0), std::invalid_argument);
  UniverseTable table(members(3), 0, 0);
  EXPECT_FALSE(table.set_lost(3));
}

// Whoever is lost: all that live are in one tree, and both ends of a link say the same.
TEST(UniverseTable, AllThatLiveStayOneTree) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    const std::uint32_t count = 2 + random() % 60;
    std::vector<UniverseTable> tables;
    for (std::uint32_t n = 0; n < count; ++n) tables.emplace_back(members(count), count / 2, n, 1 + seed % 4);
    std::set<std::uint32_t> alive;
    for (std::uint32_t n = 0; n < count; ++n) alive.insert(n);
    while (alive.size() > 1) {
      const std::uint32_t lost = *std::next(alive.begin(), static_cast<std::ptrdiff_t>(random() % alive.size()));
      alive.erase(lost);
      for (const std::uint32_t n : alive) tables[n].set_lost(lost);
      std::size_t links = 0;
      for (const std::uint32_t n : alive) {
        links += tables[n].children().size();
        for (const std::uint32_t child : tables[n].children()) ASSERT_EQ(tables[child].parent(), n) << "seed " << seed;
        std::uint32_t at = n;
        for (std::size_t steps = 0; tables[at].parent(); at = *tables[at].parent()) {
          ASSERT_LT(++steps, alive.size()) << "seed " << seed;
        }
      }
      ASSERT_EQ(links, alive.size() - 1) << "seed " << seed;
    }
  }
}

TEST(UniverseTable, WaysGoUpAndDownTheTree) {
  UniverseTable table(members(7), 0, 0, 2);  // 1 and 2 below 0; 3 and 4 below 1; 5 and 6 below 2
  EXPECT_EQ(table.path(3, 3), Nodes{3});
  EXPECT_EQ(table.path(3, 4), (Nodes{3, 1, 4}));
  EXPECT_EQ(table.path(3, 6), (Nodes{3, 1, 0, 2, 6}));
  EXPECT_EQ(table.path(0, 5), (Nodes{0, 2, 5}));
  EXPECT_EQ(table.path(5, 0), (Nodes{5, 2, 0}));
  EXPECT_EQ(table.path(5, 9), Nodes{});
  table.set_lost(2);
  EXPECT_EQ(table.path(3, 6), (Nodes{3, 1, 0, 6}));
  EXPECT_EQ(table.path(3, 2), Nodes{});
  table.set_lost(0);
  EXPECT_EQ(table.path(3, 6), (Nodes{3, 1, 6}));
}

}  // namespace
}  // namespace openlapi::daemon
