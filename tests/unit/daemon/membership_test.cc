// Whole universes of daemons in one process, over a network that delivers in an order drawn from a seed.
#include "control/daemon/membership.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>

namespace openlapi::daemon {
namespace {

class Network {
 public:
  Network(std::uint32_t count, std::uint32_t seed, std::uint32_t degree = 4) : degree_(degree), random_(seed) {
    std::vector<UniverseNode> nodes(count);
    for (UniverseNode& node : nodes) node.state = NodeState::kMember;
    for (std::uint32_t n = 0; n < count; ++n) daemons_.push_back(std::make_unique<Daemon>(*this, nodes, n, false));
  }

  void start() {
    for (auto& daemon : daemons_) daemon->membership.start();
  }
  // As SIGKILL does: nothing more from it but the ends of its connections.
  void kill(std::uint32_t node) { end(node); }
  void halt(std::uint32_t node) { daemons_[node]->membership.halt(); }
  void shrink(std::uint32_t node, std::uint32_t by) { daemons_[by]->membership.shrink(node, 5); }
  // A daemon is booted as `number`, and knows what lamgrow saw at its sponsor.
  void grow(std::uint32_t number, std::uint32_t sponsor) {
    std::vector<UniverseNode> nodes(std::max<std::size_t>(number + 1, daemons_.size()));
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
      if (n == number || table(sponsor).is_member(n)) nodes[n].state = NodeState::kMember;
    }
    nodes[number].port = 1000 + ++grown_;
    NodeRecord record{number, nodes[number]};
    if (number == daemons_.size()) daemons_.emplace_back();
    daemons_[number] = std::make_unique<Daemon>(*this, nodes, number, true);
    daemons_[number]->membership.start();
    daemons_[sponsor]->membership.grow(record);
  }

  // One delivery, drawn by lot; when nothing is under way the time goes on to the next deadline. False: all is quiet.
  bool step() {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ready;
    for (const auto& [link, items] : channels_) {
      if (!items.empty()) ready.push_back(link);
    }
    if (ready.empty()) return pass_time();
    const auto link = ready[random_() % ready.size()];
    Item item = std::move(channels_[link].front());
    channels_[link].pop_front();
    deliver(link.first, link.second, item);
    return true;
  }
  void run() {
    for (int steps = 0; step(); ++steps) ASSERT_LT(steps, 1'000'000) << "it does not come to rest";
  }

  bool lives(std::uint32_t node) const { return daemons_[node]->lives; }
  bool is_linked(std::uint32_t node) const { return daemons_[node]->linked_told; }
  const UniverseTable& table(std::uint32_t node) const { return daemons_[node]->table; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(daemons_.size()); }
  const std::set<std::uint32_t>& joined(std::uint32_t node) const { return daemons_[node]->joined; }
  std::uint32_t ended(std::uint32_t node) const { return daemons_[node]->ended_daemons; }
  std::size_t most_sent() const {
    std::size_t most = 0;
    for (const auto& daemon : daemons_) most = std::max(most, daemon->sent);
    return most;
  }
  std::size_t most_bytes() const {
    std::size_t most = 0;
    for (const auto& daemon : daemons_) most = std::max(most, daemon->bytes);
    return most;
  }
  std::size_t living() const {
    return static_cast<std::size_t>(std::ranges::count_if(daemons_, [](const auto& daemon) { return daemon->lives; }));
  }

 private:
  struct Item {
    enum class Kind { kConnect, kLink, kMessage, kClose } kind;
    std::vector<NodeRecord> changes{};
    DaemonMessage message{};
  };

  struct Daemon final : MembershipLinks {
    Daemon(Network& network_, const std::vector<UniverseNode>& nodes, std::uint32_t here_, bool joins)
        : network(network_),
          here(here_),
          table(nodes, 0, here_, network_.degree_),
          membership(table, *this, network_.now_, joins) {}
    void connect(std::uint32_t node) override {
      connecting.insert(node);
      network.channels_[{here, node}].push_back({Item::Kind::kConnect, table.changes()});
    }
    void send(std::uint32_t node, const DaemonMessage& message) override {
      ASSERT_TRUE(up.contains(node)) << here << " to " << node;
      ++sent;
      bytes += encode(message).size();
      network.channels_[{here, node}].push_back({Item::Kind::kMessage, {}, message});
    }
    void close(std::uint32_t node) override {
      if (up.erase(node) > 0) network.channels_[{here, node}].push_back({Item::Kind::kClose});
    }
    void universe_linked() override {
      EXPECT_FALSE(linked_told);
      linked_told = true;
    }
    void node_lost(std::uint32_t) override {}
    void node_changed(std::uint32_t) override {}
    void node_joined(std::uint32_t node) override { joined.insert(node); }
    void ended(std::uint32_t daemons) override {
      ended_daemons = daemons;
      network.end(here);
    }

    Network& network;
    std::uint32_t here;
    UniverseTable table;
    Membership membership;
    std::set<std::uint32_t> up{}, connecting{}, joined{};
    bool lives = true, linked_told = false;
    std::uint32_t ended_daemons = 0;
    std::size_t sent = 0, bytes = 0;
  };

  void end(std::uint32_t node) {
    Daemon& daemon = *daemons_[node];
    if (!daemon.lives) return;
    daemon.lives = false;
    for (const auto& set : {daemon.up, daemon.connecting}) {
      for (const std::uint32_t other : set) channels_[{node, other}].push_back({Item::Kind::kClose});
    }
  }

  void deliver(std::uint32_t from, std::uint32_t to, const Item& item) {
    Daemon& sender = *daemons_[from];
    Daemon& receiver = *daemons_[to];
    if (!receiver.lives) {
      if (item.kind == Item::Kind::kConnect && sender.lives) fail(from, to);
      return;
    }
    switch (item.kind) {
      case Item::Kind::kConnect:
        if (sender.lives) channels_[{to, from}].push_back({Item::Kind::kLink, receiver.table.changes()});
        take_up(receiver, from, item.changes);
        break;
      case Item::Kind::kLink:
        receiver.connecting.erase(from);
        take_up(receiver, from, item.changes);
        break;
      case Item::Kind::kMessage:
        if (receiver.up.contains(from)) receiver.membership.take(from, item.message);
        break;
      case Item::Kind::kClose:
        if (receiver.connecting.contains(from)) return fail(to, from);
        if (receiver.up.erase(from) > 0) receiver.membership.link_down(from);
    }
  }

  void fail(std::uint32_t node, std::uint32_t other) {
    daemons_[node]->connecting.erase(other);
    daemons_[node]->membership.connect_failed(other);
  }

  void take_up(Daemon& daemon, std::uint32_t from, const std::vector<NodeRecord>& changes) {
    const bool was_up = !daemon.up.insert(from).second;
    if (daemon.membership.link_up(from, changes) || was_up) return;
    if (!daemon.lives) return;
    channels_[{daemon.here, from}].push_back({Item::Kind::kMessage, {}, LostMessage{from}});
    daemon.close(from);
  }

  bool pass_time() {
    std::optional<Time> next;
    for (const auto& daemon : daemons_) {
      const auto deadline = daemon->lives ? daemon->membership.deadline() : std::nullopt;
      if (deadline && (!next || *deadline < *next)) next = deadline;
    }
    if (!next) return false;
    now_ = *next;
    for (const auto& daemon : daemons_) {
      if (daemon->lives) daemon->membership.tick(*next);
    }
    return true;
  }

  const std::uint32_t degree_;
  std::mt19937 random_;
  Time now_{};
  std::uint32_t grown_ = 0;
  std::vector<std::unique_ptr<Daemon>> daemons_{};
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<Item>> channels_{};
};

void expect_one_universe(const Network& network, std::uint32_t count, std::uint32_t seed) {
  for (std::uint32_t node = 0; node < count; ++node) {
    if (!network.lives(node)) continue;
    EXPECT_TRUE(network.is_linked(node)) << "seed " << seed << " n" << node;
    for (std::uint32_t other = 0; other < count; ++other) {
      ASSERT_EQ(network.table(node).is_member(other), network.lives(other))
          << "seed " << seed << ": n" << node << " about n" << other;
    }
  }
}

TEST(Membership, ADaemonAloneIsAUniverse) {
  Network network(1, 1);
  network.start();
  network.run();
  EXPECT_TRUE(network.is_linked(0));
  network.halt(0);
  EXPECT_EQ(network.ended(0), 1u);
}

TEST(Membership, MessagesADaemonDoNotGrowWithTheUniverse) {
  std::size_t sent[2] = {};
  for (const auto& [index, count] : {std::pair{0, 40u}, std::pair{1, 640u}}) {
    Network network(count, 7);
    network.start();
    network.run();
    expect_one_universe(network, count, 7);
    network.halt(count - 1);
    network.run();
    EXPECT_EQ(network.living(), 0u);
    EXPECT_EQ(network.ended(count - 1), count);
    sent[index] = network.most_sent();
  }
  EXPECT_EQ(sent[0], sent[1]);
  EXPECT_LE(sent[1], 10u);  // Ready to five neighbours, Halt to four, Halted to one
}

// Each daemon has a table of its own, so this process has 2,048 of them.
TEST(Membership, AUniverseOf2048NodesNeedsFewMessagesAndLittleMemory) {
  constexpr std::uint32_t kNodes = 2048;
  const std::size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  Network network(kNodes, 11, kTreeDegree);
  network.start();
  network.run();
  const std::size_t memory = (mallinfo2().uordblks + mallinfo2().hblkhd - before) / kNodes;
  for (std::uint32_t node = 0; node < kNodes; ++node) ASSERT_TRUE(network.is_linked(node));
  std::printf("%u daemons are linked: each has sent %zu messages of %zu bytes at most, and has %zu KiB of memory\n",
              kNodes, network.most_sent(), network.most_bytes(), memory / 1024);
  EXPECT_LE(network.most_sent(), kTreeDegree + 1);  // Ready to each neighbour
  EXPECT_LE(network.most_bytes(), 2 * network.most_sent());
  EXPECT_LE(memory, 512u * 1024);
  const std::size_t sent = network.most_sent();
  network.kill(1000);
  network.run();
  for (std::uint32_t node = 0; node < kNodes; ++node) ASSERT_EQ(network.table(node).is_member(1000), node == 1000);
  EXPECT_LE(network.most_sent() - sent, kTreeDegree + 1);  // that it is lost, likewise
}

TEST(Membership, AllHearOfALostDaemonOnce) {
  for (const std::uint32_t victim : {0u, 1u, 5u, 20u}) {
    Network network(21, 3);
    network.start();
    network.run();
    const std::size_t before = network.most_sent();
    network.kill(victim);
    network.run();
    expect_one_universe(network, 21, 3);
    EXPECT_LE(network.most_sent() - before, 16u) << "victim n" << victim;
  }
}

TEST(Membership, ADaemonThatNeverComesIsLostAndTheOthersAreLinked) {
  Network network(10, 5);
  network.kill(2);
  network.start();
  network.run();
  EXPECT_EQ(network.living(), 9u);
  expect_one_universe(network, 10, 5);
}

// Any number of daemons die at any time, also while the universe is being linked and while others are being told.
TEST(Membership, WhoeverDiesTheOthersAgree) {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    const std::uint32_t count = 2 + random() % 40;
    Network network(count, seed);
    network.start();
    const std::uint32_t deaths = random() % count;
    for (std::uint32_t death = 0; death < deaths; ++death) {
      for (std::uint32_t steps = random() % 40; steps > 0 && network.step(); --steps) {
      }
      network.kill(random() % count);
    }
    network.run();
    ASSERT_GE(network.living(), 1u) << "seed " << seed;
    expect_one_universe(network, count, seed);
    if (HasFailure()) return;
    std::uint32_t asked = 0;
    while (!network.lives(asked)) ++asked;
    const auto living = static_cast<std::uint32_t>(network.living());
    network.halt(asked);
    network.run();
    ASSERT_EQ(network.living(), 0u) << "seed " << seed;
    ASSERT_EQ(network.ended(asked), living) << "seed " << seed;
  }
}

TEST(Membership, ANodeJoinsAndAllHearOfIt) {
  Network network(21, 3);
  network.start();
  network.run();
  const std::size_t before = network.most_sent();
  for (const auto& [number, sponsor] : {std::pair{21u, 7u}, std::pair{22u, 21u}, std::pair{23u, 0u}}) {
    network.grow(number, sponsor);
    network.run();
    EXPECT_TRUE(network.joined(sponsor).contains(number));
    EXPECT_EQ(network.table(number).parent(), sponsor);
    expect_one_universe(network, number + 1, 3);
    for (std::uint32_t n = 0; n <= number; ++n) EXPECT_EQ(network.table(n).nodes()[number].port, 1000 + number - 20);
  }
  EXPECT_LE(network.most_sent() - before, 20u);
  network.kill(21);
  network.run();
  expect_one_universe(network, 24, 3);
  EXPECT_EQ(network.table(22).parent(), 0u);
  network.halt(22);
  network.run();
  EXPECT_EQ(network.ended(22), 23u);
}

TEST(Membership, ANodeWhoseDaemonIsNotThereIsNone) {
  Network network(6, 2);
  network.start();
  network.run();
  network.grow(6, 4);
  network.kill(6);
  network.run();
  EXPECT_FALSE(network.joined(4).contains(6));
  expect_one_universe(network, 7, 2);
  for (std::uint32_t n = 0; n < 6; ++n) EXPECT_EQ(network.table(n).nodes()[6].state, NodeState::kRemoved);
}

// Its sponsor dies before it connects, or just behind: the daemon ends, or finds the others.
TEST(Membership, ANodeWhoseSponsorDiesIsInOrOut) {
  Network network(6, 2);
  network.start();
  network.run();
  network.grow(6, 4);
  network.kill(4);
  network.run();
  EXPECT_EQ(network.ended(6), 0u);
  expect_one_universe(network, 7, 2);
}

TEST(Membership, ANodeLeavesAndItsNumberIsFree) {
  Network network(21, 9);
  network.start();
  network.run();
  for (const std::uint32_t leaver : {1u, 0u, 20u}) {  // one with children, the root, a leaf
    network.shrink(leaver, 7);
    network.run();
    EXPECT_FALSE(network.lives(leaver));
    EXPECT_EQ(network.ended(leaver), 1u);
    expect_one_universe(network, 21, 9);
    EXPECT_EQ(network.table(7).nodes()[leaver].state, NodeState::kRemoved);
  }
  for (const std::uint32_t number : {1u, 0u}) {
    network.grow(number, 12);
    network.run();
    EXPECT_TRUE(network.lives(number));
    expect_one_universe(network, 21, 9);
    EXPECT_EQ(network.table(number).parent(), 12u);
  }
}

TEST(Membership, ALostNodeCanBeRemovedAndComeBack) {
  Network network(10, 4);
  network.start();
  network.run();
  network.kill(3);
  network.run();
  EXPECT_EQ(network.table(9).nodes()[3].state, NodeState::kLost);
  network.shrink(3, 5);
  network.run();
  EXPECT_EQ(network.table(9).nodes()[3].state, NodeState::kRemoved);
  network.grow(3, 9);
  network.run();
  expect_one_universe(network, 10, 4);
}

// Two tools at different nodes give two daemons the same number: one stays, the other ends, and all agree.
TEST(Membership, OfTwoNodesWithOneNumberOneStays) {
  std::vector<UniverseNode> nodes(3);
  for (UniverseNode& node : nodes) node.state = NodeState::kMember;
  UniverseTable left(nodes, 0, 1), right(nodes, 0, 2);
  NodeRecord one{3, {NodeState::kMember, 1, 1, 0, 1, "one", 1, 1}},
      two{3, {NodeState::kMember, 2, 2, 0, 1, "two", 1, 2}};
  EXPECT_TRUE(left.apply(one));
  EXPECT_TRUE(left.apply(two));
  EXPECT_TRUE(right.apply(two));
  EXPECT_FALSE(right.apply(one));
  EXPECT_EQ(left.nodes(), right.nodes());
}

// Nodes join and leave while daemons die.
TEST(Membership, WhoeverJoinsLeavesOrDiesTheOthersAgree) {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    Network network(2 + random() % 20, seed);
    network.start();
    network.run();
    for (std::uint32_t change = 0; change < 12; ++change) {
      for (std::uint32_t steps = random() % 30; steps > 0 && network.step(); --steps) {
      }
      const std::uint32_t node = random() % network.size(), other = random() % network.size();
      const bool able = network.lives(other) && network.is_linked(other) && node != other;
      switch (random() % 4) {
        case 0:
          if (network.living() > 1) network.kill(node);
          break;
        case 1:
          if (able && network.table(other).is_member(node)) network.shrink(node, other);
          break;
        default:
          if (able) network.grow(network.size(), other);
      }
    }
    network.run();
    expect_one_universe(network, network.size(), seed);
    if (HasFailure()) return;
    std::uint32_t asked = 0;
    while (asked < network.size() && !network.lives(asked)) ++asked;
    if (asked == network.size()) continue;
    const auto living = static_cast<std::uint32_t>(network.living());
    network.halt(asked);
    network.run();
    ASSERT_EQ(network.living(), 0u) << "seed " << seed;
    ASSERT_EQ(network.ended(asked), living) << "seed " << seed;
  }
}

// Halt while daemons die and others have not come yet; asked of two at once. Nobody may stay.
TEST(Membership, HaltEndsAllWhateverHappensMeanwhile) {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    const std::uint32_t count = 2 + random() % 40;
    Network network(count, seed);
    network.start();
    for (std::uint32_t steps = random() % 100; steps > 0 && network.step(); --steps) {
    }
    network.halt(random() % count);
    if (seed % 2 == 0) network.halt(random() % count);
    network.run();
    ASSERT_EQ(network.living(), 0u) << "seed " << seed;
  }
}

}  // namespace
}  // namespace openlapi::daemon
