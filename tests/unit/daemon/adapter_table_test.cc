#include "control/daemon/adapters/adapter_table.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/daemon/adapter_rows.h"

namespace openlapi::daemon {
namespace {

class AdapterTableTest : public testing::Test {
 protected:
  UniverseTable universe_{members(3), 0, 0};
  AdapterTable table_{universe_, [this] { return ++time_; }};
  std::uint64_t time_ = 0;
};

TEST_F(AdapterTableTest, OnlyWhatIsLaterIsNews) {
  EXPECT_TRUE(table_.apply({1, 0, 2, {adapter("a")}}));
  EXPECT_FALSE(table_.apply({1, 0, 2, {adapter("b")}})) << "the same generation";
  EXPECT_FALSE(table_.apply({1, 0, 1, {adapter("b")}})) << "an earlier one";
  EXPECT_EQ(table_.rows().at(1).adapters[0].name, "a");
  EXPECT_TRUE(table_.apply({1, 0, 3, {adapter("b")}}));
  EXPECT_EQ(table_.rows().at(1).adapters[0].name, "b");
  EXPECT_FALSE(table_.apply({1, 0, 0, {}})) << "no daemon says that";
}

TEST_F(AdapterTableTest, OnlyMembersHaveRows) {
  EXPECT_FALSE(table_.apply({3, 0, 1, {adapter("a")}})) << "no node";
  EXPECT_FALSE(table_.apply({1, 1, 1, {adapter("a")}})) << "another daemon's";
  EXPECT_TRUE(table_.apply({1, 0, 9, {adapter("a")}}));
  universe_.set_state(1, NodeState::kLost);
  table_.node_changed(1);
  EXPECT_FALSE(table_.rows().contains(1));
  EXPECT_FALSE(table_.apply({1, 0, 10, {adapter("a")}})) << "late news of a lost node";
  NodeRecord again{1, universe_.nodes()[1]};
  again.node.state = NodeState::kMember;
  again.node.stamp = universe_.next_stamp();
  ASSERT_TRUE(universe_.apply(again));
  table_.node_changed(1);
  EXPECT_FALSE(table_.apply({1, 0, 11, {adapter("a")}})) << "of the daemon before";
  EXPECT_TRUE(table_.apply({1, again.node.stamp, 1, {adapter("a")}}));
}

TEST_F(AdapterTableTest, ANumberThatIsUsedAgainHasTheNewRowOnly) {
  EXPECT_TRUE(table_.apply({1, 0, 9, {adapter("a")}}));
  NodeRecord again{1, universe_.nodes()[1]};
  again.node.stamp = universe_.next_stamp();
  ASSERT_TRUE(universe_.apply(again));
  table_.node_changed(1);
  EXPECT_FALSE(table_.rows().contains(1));
}

TEST_F(AdapterTableTest, NobodyElseSaysWhatIsHere) {
  EXPECT_TRUE(table_.set_own({adapter("a")}));
  EXPECT_FALSE(table_.apply({0, 0, 100, {}}));
  EXPECT_EQ(table_.own_row().adapters.size(), 1U);
  EXPECT_FALSE(table_.set_own({adapter("a")})) << "nothing has changed";
  EXPECT_EQ(table_.own_row().generation, 1U);
  EXPECT_TRUE(table_.set_own({}));
  EXPECT_EQ(table_.own_row().generation, 2U);
}

TEST_F(AdapterTableTest, ANodeWithoutAdaptersHasARowToo) {
  EXPECT_TRUE(table_.set_own({}));
  EXPECT_EQ(table_.own_row().generation, 1U);
}

TEST_F(AdapterTableTest, ImpossibleRowsAreRefused) {
  EXPECT_FALSE(table_.apply({1, 0, 1, {adapter("a"), adapter("a")}}));
  EXPECT_FALSE(table_.apply({1, 0, 1, {adapter("")}}));
  EXPECT_TRUE(table_.rows().empty());
}

TEST_F(AdapterTableTest, KnowsWhoseAnAddressIs) {
  EXPECT_FALSE(table_.node_of({10, 0, 0, 1}));
  table_.set_own({adapter("a")});
  EXPECT_EQ(table_.node_of({10, 0, 0, 1}), 0U);
  table_.apply({1, 0, 1, {adapter("a")}});
  table_.apply({2, 0, 1, {adapter("a")}});
  EXPECT_EQ(table_.node_of({10, 0, 0, 1}), 1U) << "rather another node's";
  EXPECT_FALSE(table_.node_of({10, 0, 0, 2}));
}

TEST_F(AdapterTableTest, TheVersionGrowsWithEachChange) {
  std::uint64_t last = table_.version();
  EXPECT_GT(last, 0U);
  const auto has_grown = [&] { return std::exchange(last, table_.version()) < table_.version(); };
  table_.set_own({adapter("a")});
  EXPECT_TRUE(has_grown());
  table_.apply({1, 0, 1, {}});
  EXPECT_TRUE(has_grown());
  table_.apply({1, 0, 1, {}});
  EXPECT_FALSE(has_grown());
  universe_.set_state(1, NodeState::kRemoved);
  table_.node_changed(1);
  EXPECT_TRUE(has_grown());
}

TEST_F(AdapterTableTest, RemembersWhatHasChanged) {
  table_.apply({1, 0, 1, {adapter("a"), adapter("b", AdapterCause::kNoCarrier)}});
  EXPECT_TRUE(table_.changes().empty()) << "so it was";
  table_.apply({1, 0, 2, {adapter("a", AdapterCause::kTakenDown, 7), adapter("b", AdapterCause::kNoCarrier)}});
  ASSERT_EQ(table_.changes().size(), 1U);
  EXPECT_EQ(table_.changes()[0], (AdapterChange{1, 1, adapter("a", AdapterCause::kTakenDown, 7), 1}));
  table_.apply(
      {1, 0, 3, {adapter("a"), adapter("b", AdapterCause::kNoCarrier), adapter("c", AdapterCause::kNoCarrier)}});
  ASSERT_EQ(table_.changes().size(), 3U);
  EXPECT_TRUE(table_.changes()[1].adapter.is_up());
  EXPECT_EQ(table_.changes()[2].adapter.name, "c");
  EXPECT_EQ(table_.changes()[2].number, 3U);
}

TEST_F(AdapterTableTest, RemembersNewAdaptersAndAddresses) {
  AdapterStatus moved = adapter("b");
  moved.addresses = {{{10, 9, 0, 7}, 24}};
  table_.apply({1, 0, 1, {adapter("a")}});
  table_.apply({1, 0, 2, {adapter("a"), adapter("b")}});
  ASSERT_EQ(table_.changes().size(), 1U);
  EXPECT_EQ(table_.changes()[0].adapter, adapter("b"));
  table_.apply({1, 0, 3, {adapter("a"), moved}});
  ASSERT_EQ(table_.changes().size(), 2U);
  EXPECT_EQ(table_.changes()[1].adapter, moved);
  moved.cause = AdapterCause::kTakenDown;
  table_.apply({1, 0, 4, {adapter("a"), moved}});
  moved.addresses.clear();
  table_.apply({1, 0, 5, {adapter("a"), moved}});
  EXPECT_EQ(table_.changes().size(), 3U) << "what it has while it is down is told when it is up";
}

TEST_F(AdapterTableTest, RemembersSoManyChangesAndNoMore) {
  for (std::uint64_t n = 1; n <= 2 * kMostChanges; ++n) {
    table_.apply({1, 0, n, {adapter("a", n % 2 != 0 ? AdapterCause::kUp : AdapterCause::kNoCarrier, n)}});
  }
  ASSERT_EQ(table_.changes().size(), kMostChanges);
  EXPECT_EQ(table_.changes().back().number, 2 * kMostChanges - 1);
}

}  // namespace
}  // namespace openlapi::daemon
