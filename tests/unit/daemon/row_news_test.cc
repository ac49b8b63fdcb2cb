#include "control/daemon/adapters/row_news.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "control/daemon/messages/daemon_message.h"
#include "tests/unit/daemon/adapter_rows.h"

namespace openlapi::daemon {
namespace {

class RowNewsTest : public testing::Test {
 protected:
  void change(std::uint64_t since) {
    table_.set_own({adapter("a", AdapterCause::kUp, since)});
    news_.changed({0}, std::nullopt);
  }
  // Since when it is so by what neighbour 1 was told last.
  std::uint64_t told() const { return sent_.back().rows.at(0).adapters.at(0).since; }

  UniverseTable universe_{members(3), 0, 0};
  AdapterTable table_{universe_, [] { return std::uint64_t{1}; }};
  std::vector<AdaptersMessage> sent_{};
  RowNews news_{table_, [this](std::uint32_t neighbour, const AdaptersMessage& message) {
                  if (neighbour == 1) sent_.push_back(message);
                }};
};

TEST_F(RowNewsTest, WhoDoesNotReadIsSentOneMessageAndTheLatestRowThen) {
  news_.linked(1);
  EXPECT_TRUE(sent_.empty()) << "nothing is known";
  for (std::uint64_t since = 1; since <= 1000; ++since) change(since);
  ASSERT_EQ(sent_.size(), 1U);
  EXPECT_EQ(told(), 1U);
  news_.taken(1);
  ASSERT_EQ(sent_.size(), 2U);
  EXPECT_EQ(told(), 1000U);
  news_.taken(1);
  EXPECT_EQ(sent_.size(), 2U) << "it knows all";
  change(1001);
  EXPECT_EQ(told(), 1001U);
}

TEST_F(RowNewsTest, OtherNeighboursDoNotWaitForIt) {
  news_.linked(1);
  news_.linked(2);
  for (std::uint64_t since = 1; since <= 3; ++since) {
    change(since);
    news_.taken(1);
  }
  EXPECT_EQ(told(), 3U);
}

TEST_F(RowNewsTest, ANewLinkBeginsWithAllRowsAndAnOldOneWithNothing) {
  news_.linked(1);
  change(1);
  news_.gone(1);
  change(2);
  EXPECT_EQ(sent_.size(), 1U);
  news_.taken(1);
  EXPECT_EQ(sent_.size(), 1U) << "of the old link";
  news_.linked(1);
  ASSERT_EQ(sent_.size(), 2U);
  EXPECT_EQ(told(), 2U);
}

TEST_F(RowNewsTest, ALargeMatrixComesInPieces) {
  constexpr std::uint32_t kNodes = 300;
  UniverseTable universe(members(kNodes), 0, 0);
  AdapterTable table(universe, [] { return std::uint64_t{1}; });
  std::vector<AdapterStatus> adapters;
  for (std::size_t n = 0; n < 10; ++n) {
    adapters.push_back(adapter("a"));
    adapters.back().name += std::to_string(n);
  }
  for (std::uint32_t node = 1; node < kNodes; ++node) ASSERT_TRUE(table.apply({node, 0, 1, adapters}));
  std::size_t rows = 0, messages = 0;
  RowNews news(table, [&](std::uint32_t, const AdaptersMessage& message) {
    rows += message.rows.size();
    ++messages;
    EXPECT_LT(encode(message).size(), 64U << 10);
  });
  news.linked(1);
  EXPECT_EQ(messages, 1U);
  while (rows < kNodes - 1 && messages < kNodes) news.taken(1);
  EXPECT_EQ(rows, kNodes - 1);
  EXPECT_GT(messages, 2U);
}

// Daemons along a random tree. What goes over a link comes in order; links break, and others are made.
class Flood {
 public:
  Flood(std::uint32_t count, unsigned seed) : random_(seed) {
    for (std::uint32_t here = 0; here < count; ++here) {
      daemons_.push_back(std::make_unique<Daemon>(*this, members(count), here));
      if (here > 0) link(here, random_() % here);
    }
  }

  void link(std::uint32_t left, std::uint32_t right) {
    for (const auto& [from, to] : {std::pair(left, right), std::pair(right, left)}) {
      channels_[{from, to}] = {};
      daemons_[from]->table.own_row();
      daemons_[from]->news.linked(to);
    }
  }
  void change(std::uint32_t node) {
    AdapterTable& table = daemons_[node]->table;
    const auto cause = static_cast<std::uint8_t>(random_() % 5);
    if (table.set_own({adapter("a", cause, ++time_)}))
      daemons_[node]->news.changed({table.own_row().node}, std::nullopt);
  }
  // The daemon below it links to another: what was under way over the old link is lost.
  void relink(std::uint32_t node) {
    for (std::uint32_t other = 0; other < node; ++other) {
      if (channels_.erase({node, other}) + channels_.erase({other, node}) == 0) continue;
      daemons_[node]->news.gone(other);
      daemons_[other]->news.gone(node);
    }
    link(node, random_() % node);
  }
  bool deliver_one() {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ready;
    for (const auto& [way, messages] : channels_) {
      if (!messages.empty()) ready.push_back(way);
    }
    if (ready.empty()) return false;
    const auto way = ready[random_() % ready.size()];
    const std::optional<AdaptersMessage> message = channels_[way].front();
    channels_[way].pop_front();
    if (message) {
      take(way.first, *daemons_[way.second], *message);
    } else {
      daemons_[way.second]->news.taken(way.first);
    }
    return true;
  }
  std::size_t size() const { return daemons_.size(); }
  std::size_t delivered() const { return delivered_; }
  const AdapterTable& table(std::size_t node) const { return daemons_[node]->table; }
  std::uint32_t draw(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }

 private:
  struct Daemon {
    Daemon(Flood& flood, std::vector<UniverseNode> nodes, std::uint32_t here)
        : universe(std::move(nodes), 0, here),
          news(table, [&flood, here](std::uint32_t to, const AdaptersMessage& message) {
            flood.channels_[{here, to}].push_back(message);
          }) {}
    UniverseTable universe;
    AdapterTable table{universe, [] { return std::uint64_t{0}; }};
    RowNews news;
  };
  void take(std::uint32_t from, Daemon& daemon, const AdaptersMessage& message) {
    channels_[{daemon.universe.here(), from}].push_back(std::nullopt);
    std::vector<std::uint32_t> nodes;
    for (const NodeAdapters& row : message.rows) {
      ++delivered_;
      if (daemon.table.apply(row)) nodes.push_back(row.node);
    }
    daemon.news.changed(nodes, from);
  }

  std::mt19937 random_;
  std::uint64_t time_ = 0;
  std::size_t delivered_ = 0;
  std::vector<std::unique_ptr<Daemon>> daemons_{};
  // Nothing: a message has been taken.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<std::optional<AdaptersMessage>>> channels_{};
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
