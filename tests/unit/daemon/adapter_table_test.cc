#include "control/daemon/adapters/adapter_table.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace openlapi::daemon {
namespace {

AdapterStatus adapter(const std::string& name, std::uint8_t cause = AdapterCause::kUp, std::uint64_t since = 1) {
  return {name, AdapterKind::kInterface, cause, 1000, since, {{{10, 0, 0, 1}, 24}}};
}

std::vector<UniverseNode> members(std::uint32_t count) {
  std::vector<UniverseNode> nodes(count);
  for (UniverseNode& node : nodes) node.state = NodeState::kMember;
  return nodes;
}

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

TEST_F(AdapterTableTest, RemembersSoManyChangesAndNoMore) {
  for (std::uint64_t n = 1; n <= 2 * kMostChanges; ++n) {
    table_.apply({1, 0, n, {adapter("a", n % 2 != 0 ? AdapterCause::kUp : AdapterCause::kNoCarrier, n)}});
  }
  ASSERT_EQ(table_.changes().size(), kMostChanges);
  EXPECT_EQ(table_.changes().back().number, 2 * kMostChanges - 1);
}

// Daemons along a random tree. What goes over a link comes in order; links break, and others are made.
class Flood {
 public:
  Flood(std::uint32_t count, unsigned seed) : random_(seed) {
    for (std::uint32_t here = 0; here < count; ++here) {
      daemons_.push_back(std::make_unique<Daemon>(members(count), here));
      if (here > 0) link(here, random_() % here);
    }
  }

  void link(std::uint32_t left, std::uint32_t right) {
    for (const auto& [from, to] : {std::pair(left, right), std::pair(right, left)}) {
      auto& channel = channels_[{from, to}];
      daemons_[from]->table.own_row();
      for (const auto& [node, row] : daemons_[from]->table.rows()) channel.push_back(row);
    }
  }
  void change(std::uint32_t node) {
    AdapterTable& table = daemons_[node]->table;
    const auto cause = static_cast<std::uint8_t>(random_() % 5);
    if (table.set_own({adapter("a", cause, ++time_)})) spread(node, table.own_row(), node);
  }
  // The daemon below it links to another: what was under way over the old link is lost.
  void relink(std::uint32_t node) {
    for (std::uint32_t other = 0; other < node; ++other) {
      if (channels_.erase({node, other}) + channels_.erase({other, node}) > 0) break;
    }
    link(node, random_() % node);
  }
  bool deliver_one() {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ready;
    for (const auto& [way, rows] : channels_) {
      if (!rows.empty()) ready.push_back(way);
    }
    if (ready.empty()) return false;
    const auto way = ready[random_() % ready.size()];
    const NodeAdapters row = channels_[way].front();
    channels_[way].pop_front();
    ++delivered_;
    if (daemons_[way.second]->table.apply(row)) spread(way.second, row, way.first);
    return true;
  }
  std::size_t size() const { return daemons_.size(); }
  std::size_t delivered() const { return delivered_; }
  const AdapterTable& table(std::size_t node) const { return daemons_[node]->table; }
  std::uint32_t draw(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }

 private:
  struct Daemon {
    Daemon(std::vector<UniverseNode> nodes, std::uint32_t here) : universe(std::move(nodes), 0, here) {}
    UniverseTable universe;
    AdapterTable table{universe, [] { return std::uint64_t{0}; }};
  };
  void spread(std::uint32_t from, const NodeAdapters& row, std::uint32_t except) {
    for (auto& [way, rows] : channels_) {
      if (way.first == from && way.second != except) rows.push_back(row);
    }
  }

  std::mt19937 random_;
  std::uint64_t time_ = 0;
  std::size_t delivered_ = 0;
  std::vector<std::unique_ptr<Daemon>> daemons_{};
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<NodeAdapters>> channels_{};
};

TEST(AdapterFlood, AllDaemonsHaveTheSameMatrixInTheEnd) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    Flood flood(12, seed);
    const auto count = static_cast<std::uint32_t>(flood.size());
    for (std::uint32_t node = 0; node < count; ++node) flood.change(node);
    for (int step = 0; step < 500; ++step) {
      if (flood.draw(5) == 0) flood.change(flood.draw(count));
      if (flood.draw(50) == 0) flood.relink(1 + flood.draw(count - 1));
      flood.deliver_one();
    }
    while (flood.deliver_one()) {
    }
    for (std::size_t node = 1; node < flood.size(); ++node) {
      ASSERT_EQ(flood.table(node).rows(), flood.table(0).rows()) << "seed " << seed << ", n" << node;
    }
    ASSERT_EQ(flood.table(0).rows().size(), flood.size());
  }
}

TEST(AdapterFlood, AChangeCrossesEachLinkOnce) {
  Flood flood(40, 1);
  for (std::uint32_t node = 0; node < 40; ++node) flood.change(node);
  while (flood.deliver_one()) {
  }
  const std::size_t before = flood.delivered();
  flood.change(7);
  while (flood.deliver_one()) {
  }
  EXPECT_EQ(flood.delivered() - before, 39U);
}

}  // namespace
}  // namespace openlapi::daemon
