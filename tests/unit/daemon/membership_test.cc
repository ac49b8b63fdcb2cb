#include "control/daemon/membership/membership.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <set>

#include "tests/unit/daemon/membership_network.h"

namespace openlapi::daemon {
namespace {

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
  EXPECT_EQ(network.ended(0).size(), 1u);
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
    EXPECT_EQ(network.ended(count - 1).size(), count);
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

// What begins after a long time in which nothing happened is not late at once.
TEST(Membership, AfterALongSilenceNothingIsLate) {
  Network network(21, 3);
  network.start();
  network.run();
  const auto hears = [&](std::uint32_t at, std::uint32_t of, std::uint8_t state) {
    network.idle();
    while (network.table(at).nodes()[of].state != state && network.step()) {
    }
    network.tick(at);
  };
  network.kill(1);
  hears(0, 1, NodeState::kLost);  // those below it connect to n0
  network.run();
  EXPECT_EQ(network.living(), 20u);
  expect_one_universe(network, 21, 3);
  network.shrink(7, 2);
  hears(7, 7, NodeState::kLeaving);
  EXPECT_TRUE(network.lives(7));
  network.run();
  EXPECT_FALSE(network.lives(7));
}

TEST(Membership, ADaemonThatNeverComesIsLostAndTheOthersAreLinked) {
  Network network(10, 5);
  network.kill(2);
  network.start();
  network.run();
  EXPECT_EQ(network.living(), 9u);
  expect_one_universe(network, 10, 5);
}

// It is the one that the origin does not hear of; nothing happens to the origin, and to whom the boot is told.
TEST(Membership, ADaemonThatCannotReachTheOriginInABootEndsAlone) {
  for (const std::uint32_t cut_off : {1u, 3u, 4u}) {
    Network network(10, 5);
    network.cut(cut_off, 0);
    network.start();
    network.run();
    EXPECT_FALSE(network.lives(cut_off));
    EXPECT_EQ(network.ended(cut_off).size(), 0u);
    EXPECT_EQ(network.living(), 9u) << "n" << cut_off;
    expect_one_universe(network, 10, 5);
  }
}

// Any number of daemons die at any time, also while the universe is being linked and while others are being told. When
// the origin does before all are linked, all may end.
TEST(Membership, AUniverseWhoseAgentEndsBeforeItIsLinkedEnds) {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    Network network(30, seed);
    network.kill(29);  // its parent would wait for it, and then count it as lost
    network.start();
    for (std::uint32_t steps = random() % 300; steps > 0 && !network.is_linked(0); --steps) network.step();
    if (network.is_linked(0)) continue;
    network.agent_gone(0);
    network.run();
    EXPECT_EQ(network.living(), 0u) << "seed " << seed;
  }
}

TEST(Membership, AUniverseThatIsLinkedNeedsItsAgentNoMore) {
  Network network(5, 1);
  network.start();
  network.run();
  for (std::uint32_t node = 0; node < network.size(); ++node) network.agent_gone(node);
  network.run();
  EXPECT_EQ(network.living(), 5u);
}

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
    if (network.living() == 0 && !network.lives(0)) continue;
    ASSERT_GE(network.living(), 1u) << "seed " << seed;
    expect_one_universe(network, count, seed);
    if (HasFailure()) return;
    std::uint32_t asked = 0;
    while (!network.lives(asked)) ++asked;
    const auto living = static_cast<std::uint32_t>(network.living());
    network.halt(asked);
    network.run();
    ASSERT_EQ(network.living(), 0u) << "seed " << seed;
    ASSERT_EQ(network.ended(asked).size(), living) << "seed " << seed;
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
  EXPECT_EQ(network.ended(22).size(), 23u);
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

// lamgrow, the agent, ends with this answer: the daemon must not be in need of it any more.
TEST(Membership, ASponsorSaysThatANodeHasJoinedWhenItIsLinked) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    Network network(6, seed);
    network.start();
    network.run();
    network.grow(6, 4);
    while (!network.joined(4).contains(6) && network.step()) {
    }
    ASSERT_FALSE(network.is_joining(6)) << "seed " << seed;
    network.agent_gone(6);
    network.run();
    EXPECT_TRUE(network.lives(6));
    expect_one_universe(network, 7, seed);
  }
}

TEST(Membership, ANodeWhoseAgentEndsBeforeItHasJoinedEndsAtOnce) {
  Network network(6, 2);
  network.start();
  network.run();
  network.cut(4, 6);
  network.grow(6, 4);
  network.agent_gone(6);
  EXPECT_FALSE(network.lives(6));
  network.run();
  EXPECT_FALSE(network.joined(4).contains(6));
  expect_one_universe(network, 7, 2);
}

// Else its failure would be taken for that of a later daemon with the same number.
TEST(Membership, ConnectingToANodeThatIsRemovedEnds) {
  struct Links final : MembershipLinks {
    void connect(std::uint32_t node) override { connecting.insert(node); }
    void send(std::uint32_t, const DaemonMessage&) override {}
    void close(std::uint32_t node) override { connecting.erase(node); }
    void universe_linked() override {}
    void node_lost(std::uint32_t) override {}
    void node_changed(std::uint32_t) override {}
    void node_joined(std::uint32_t) override {}
    void ended(const std::set<std::uint32_t>&, const std::set<std::uint32_t>&) override {}
    std::set<std::uint32_t> connecting{};
  } links;
  UniverseTable table({UniverseNode{NodeState::kMember}}, 0, 0);
  Membership membership(table, links, [] { return Time{}; });
  membership.start();
  membership.grow({3, UniverseNode{NodeState::kMember}});
  EXPECT_EQ(links.connecting, std::set{3u});
  membership.remove(3);
  EXPECT_TRUE(links.connecting.empty());
}

// Its sponsor dies before it connects, or just behind: the daemon ends, or finds the others.
TEST(Membership, ANodeWhoseSponsorDiesIsInOrOut) {
  Network network(6, 2);
  network.start();
  network.run();
  network.grow(6, 4);
  network.kill(4);
  network.run();
  EXPECT_EQ(network.ended(6).size(), 0u);
  expect_one_universe(network, 7, 2);
}

TEST(Membership, ADaemonThatJoinsAUniverseWhichEndsMeanwhileEnds) {
  Network network(6, 2);
  network.start();
  network.run();
  network.grow(6, 4);
  network.stop(6);
  network.settle();
  for (std::uint32_t node = 0; node < 6; ++node) network.kill(node);
  network.go_on(6);
  network.run();
  EXPECT_FALSE(network.lives(6));
  EXPECT_EQ(network.ended(6).size(), 0u);
}

TEST(Membership, ANodeLeavesAndItsNumberIsFree) {
  Network network(21, 9);
  network.start();
  network.run();
  for (const std::uint32_t leaver : {1u, 0u, 20u}) {  // one with children, the root, a leaf
    network.shrink(leaver, 7);
    network.run();
    EXPECT_FALSE(network.lives(leaver));
    EXPECT_EQ(network.ended(leaver).size(), 1u);
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
    ASSERT_EQ(network.ended(asked).size(), living) << "seed " << seed;
  }
}

// Who is there is not behind a daemon that is stopped.
std::set<std::uint32_t> reached_beside(const Network& network, std::uint32_t asked, std::uint32_t stopped) {
  std::set<std::uint32_t> reached;
  for (std::uint32_t node = 0; node < network.size(); ++node) {
    const auto way = network.table(asked).path(asked, node);
    if (!way.empty() && std::ranges::find(way, stopped) == way.end()) reached.insert(node);
  }
  return reached;
}

// The sponsor waits for the daemon of a new node, which is stopped; only this one is silent.
TEST(Membership, ADaemonThatWaitsForANewOneHaltsInTime) {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    std::mt19937 random(seed);
    const std::uint32_t count = 2 + random() % 40;
    Network network(count, seed, 2);
    network.start();
    network.run();
    network.grow(count, random() % count);
    network.stop(count);
    network.settle();
    const Time begin = network.now();
    const std::uint32_t asked = random() % count;
    network.halt(asked);
    network.run();
    EXPECT_EQ(network.living(), 1u) << "seed " << seed;
    EXPECT_EQ(network.ended(asked).size(), count) << "seed " << seed;
    EXPECT_EQ(network.silent(asked), std::set{count}) << "seed " << seed;
    EXPECT_LE(network.now() - begin, kHaltTime);
    network.go_on(count);
    network.run();
    ASSERT_EQ(network.living(), 0u) << "seed " << seed;
  }
}

// Those below a lost daemon come to the one above it, but one of them is stopped.
TEST(Membership, ADaemonThatWaitsForOneOfALostDaemonsHaltsInTime) {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    std::mt19937 random(seed);
    const std::uint32_t count = 8 + random() % 40;
    Network network(count, seed, 2);
    network.start();
    network.run();
    const std::uint32_t lost = 1 + random() % 2, stopped = 2 * lost + 1 + random() % 2;
    network.stop(stopped);
    network.kill(lost);
    network.settle();
    std::uint32_t asked = random() % count;
    while (asked == lost || asked == stopped) asked = random() % count;
    const auto reached = reached_beside(network, asked, stopped);
    const Time begin = network.now();
    network.halt(asked);
    while (network.lives(asked)) ASSERT_TRUE(network.step()) << "seed " << seed;
    EXPECT_EQ(network.ended(asked), reached) << "seed " << seed << " of " << count << " asked n" << asked;
    EXPECT_EQ(network.silent(asked), std::set{stopped}) << "seed " << seed;
    EXPECT_LE(network.now() - begin, kHaltTime);
  }
}

// One that is stopped is waited for no longer than was asked; when it goes on it ends, and so do those behind it.
TEST(Membership, AStoppedDaemonHoldsUpAHaltForATime) {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    std::mt19937 random(seed);
    const std::uint32_t count = 2 + random() % 40;
    Network network(count, seed, 2);
    network.start();
    network.run();
    const std::uint32_t asked = random() % count, stopped = (asked + 1 + random() % (count - 1)) % count;
    network.stop(stopped);
    const Time begin = network.now();
    network.halt(asked);
    network.run();
    const auto reached = reached_beside(network, asked, stopped);
    for (std::uint32_t node = 0; node < count; ++node) {
      ASSERT_EQ(network.lives(node), !reached.contains(node)) << "seed " << seed << " n" << node;
    }
    EXPECT_EQ(network.ended(asked), reached) << "seed " << seed;
    EXPECT_EQ(network.silent(asked), std::set{stopped}) << "seed " << seed;
    EXPECT_LE(network.now() - begin, kHaltTime);
    network.go_on(stopped);
    network.run();
    ASSERT_EQ(network.living(), 0u) << "seed " << seed;
  }
}

// Of two tools at once, n0 between them: both hear that it has ended.
TEST(Membership, TwoThatHaltAtOnceHearOfTheOneBetweenThem) {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    Network network(3, seed);
    network.start();
    network.run();
    for (const std::uint32_t asked : {1u, 2u}) network.halt(asked);
    network.run();
    for (const std::uint32_t asked : {1u, 2u})
      EXPECT_TRUE(network.ended(asked).contains(0) && network.silent(asked).empty()) << "seed " << seed;
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
