#include "control/daemon/universe/universe_table.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <stdexcept>

#include "tests/unit/daemon/adapter_rows.h"

namespace openlapi::daemon {
namespace {

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

TEST(UniverseTable, KnowsTheParentOfEveryNode) {
  UniverseTable table(members(7), 3, 3, 2);
  EXPECT_EQ(table.parents(), (Nodes{3, 3, 0, 3, 0, 1, 1}));
  table.set_state(1, NodeState::kLost);
  EXPECT_EQ(table.parents(), (Nodes{3, 1, 0, 3, 0, 3, 3}));
  UniverseNode joined;
  joined.state = NodeState::kMember;
  joined.stamp = 1;
  joined.sponsor = 6;
  table.apply({9, joined});
  EXPECT_EQ(table.parents(), (Nodes{3, 1, 0, 3, 0, 3, 3, 7, 8, 6}));
}

TEST(UniverseTable, InvalidNodesHaveNoPlace) {
  auto nodes = members(4);
  nodes[1].state = NodeState::kInvalid;
  const UniverseTable table(nodes, 0, 0, 2);
  EXPECT_EQ(table.children(), (Nodes{2, 3}));
  EXPECT_FALSE(table.is_member(1));
  EXPECT_TRUE(table.changes().empty());
}

TEST(UniverseTable, ChildrenOfALostNodeGoToItsNearestLivingAncestor) {
  UniverseTable table(members(7), 0, 5, 2);
  EXPECT_EQ(table.parent(), 2u);
  EXPECT_TRUE(table.set_state(2, NodeState::kLost));
  EXPECT_FALSE(table.set_state(2, NodeState::kLost));
  EXPECT_EQ(table.parent(), 0u);
  UniverseTable root(members(7), 0, 0, 2);
  root.set_state(2, NodeState::kLost);
  EXPECT_EQ(root.children(), (Nodes{1, 5, 6}));
  ASSERT_EQ(root.changes().size(), 1u);
  EXPECT_EQ(root.changes()[0].number, 2u);
  EXPECT_EQ(root.changes()[0].node.state, NodeState::kLost);
}

TEST(UniverseTable, WithoutTheRootTheFirstThatLivesIsTheRoot) {
  UniverseTable first(members(4), 0, 1, 2);
  first.set_state(0, NodeState::kLost);
  EXPECT_EQ(first.parent(), std::nullopt);
  EXPECT_EQ(first.children(), (Nodes{2, 3}));
  UniverseTable second(members(4), 0, 2, 2);
  second.set_state(0, NodeState::kLost);
  EXPECT_EQ(second.parent(), 1u);
}

TEST(UniverseTable, WhatIsNoNodeIsRefused) {
  EXPECT_THROW(UniverseTable({}, 0, 0), std::invalid_argument);
  EXPECT_THROW(UniverseTable(members(3), 0, 3), std::invalid_argument);
  EXPECT_THROW(UniverseTable(members(3), 3, 0), std::invalid_argument);
  UniverseTable table(members(3), 0, 0);
  EXPECT_FALSE(table.set_state(3, NodeState::kLost));
}

NodeRecord joined(std::uint32_t number, std::uint32_t stamp, std::uint32_t sponsor) {
  NodeRecord record{number};
  record.node.state = NodeState::kMember;
  record.node.stamp = stamp;
  record.node.sponsor = sponsor;
  return record;
}

// Whether it fills a hole or is far above, no other link changes.
TEST(UniverseTable, ANodeThatJoinsIsBelowItsSponsor) {
  auto nodes = members(7);
  nodes[1].state = NodeState::kInvalid;
  UniverseTable root(nodes, 0, 0, 2), sponsor(nodes, 0, 6, 2);
  EXPECT_EQ(root.children(), (Nodes{2, 3, 4}));
  EXPECT_EQ(root.next_stamp(), 1u);
  for (UniverseTable* table : {&root, &sponsor}) {
    EXPECT_TRUE(table->apply(joined(1, 1, 6)));
    EXPECT_TRUE(table->apply(joined(40, 2, 6)));
    EXPECT_FALSE(table->apply(joined(40, 2, 6)));
    EXPECT_EQ(table->nodes().size(), 41u);
    EXPECT_EQ(table->next_stamp(), 3u);
  }
  EXPECT_EQ(root.children(), (Nodes{2, 3, 4}));
  EXPECT_EQ(sponsor.children(), (Nodes{1, 40}));
  root.set_state(6, NodeState::kRemoved);
  EXPECT_EQ(root.children(), (Nodes{2, 3, 4, 1, 40}));
  EXPECT_FALSE(root.apply(joined(kMostNodes, 9, 0)));
}

TEST(UniverseTable, WhatIsKnownOfANodeOnlyGoesForward) {
  UniverseTable table(members(3), 0, 0);
  EXPECT_TRUE(table.set_state(2, NodeState::kLeaving));
  EXPECT_TRUE(table.is_member(2));
  EXPECT_TRUE(table.set_state(2, NodeState::kRemoved));
  EXPECT_FALSE(table.is_member(2));
  EXPECT_FALSE(table.set_state(2, NodeState::kLost));
  EXPECT_TRUE(table.apply(joined(2, 5, 0)));
  NodeRecord old = joined(2, 4, 0);
  old.node.state = NodeState::kRemoved;
  EXPECT_FALSE(table.apply(old));
  EXPECT_TRUE(table.is_member(2));
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
      for (const std::uint32_t n : alive) tables[n].set_state(lost, NodeState::kLost);
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
  table.set_state(2, NodeState::kLost);
  EXPECT_EQ(table.path(3, 6), (Nodes{3, 1, 0, 6}));
  EXPECT_EQ(table.path(3, 2), Nodes{});
  table.set_state(0, NodeState::kLost);
  EXPECT_EQ(table.path(3, 6), (Nodes{3, 1, 6}));
}

}  // namespace
}  // namespace openlapi::daemon
