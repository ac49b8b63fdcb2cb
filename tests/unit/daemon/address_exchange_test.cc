// The daemons of a universe in one process, with a network table; each link keeps its order, and the test lets messages
// through one by one.
#include "control/daemon/tables/address_exchange.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include "control/daemon/messages/tree_forwarder.h"

namespace openlapi::daemon {
namespace {

constexpr std::uint64_t kTable = 5;

// Task n on node n / 2, of 7 nodes: a binary tree, 0 above 1 and 2, 1 above 3 and 4, 2 above 5 and 6.
NetworkTable small_table(std::uint32_t tasks) {
  NetworkTable table{"7", kTable, tasks, {}};
  for (std::uint32_t task = 0; task < tasks; ++task) table.windows.push_back({task, task / 2, task, "sn0", ""});
  return table;
}

class Daemons {
 public:
  explicit Daemons(const NetworkTable& table) : table_(table) {
    std::vector<UniverseNode> nodes(7);
    for (UniverseNode& node : nodes) node.state = NodeState::kMember;
    for (std::uint32_t n = 0; n < 7; ++n) {
      daemons_.push_back(std::make_unique<Daemon>(*this, nodes, n));
      daemons_.back()->tables.load(table);
    }
  }

  struct Daemon {
    Daemon(Daemons& all, const std::vector<UniverseNode>& nodes, std::uint32_t here)
        : universe(nodes, 0, here, 2),
          tables(here),
          forwarder(universe, {.is_linked = [](std::uint32_t) { return true; },
                               .send =
                                   [&all, here](std::uint32_t to, const NetworkMessage& message) {
                                     all.links[{here, to}].push_back(message);
                                   },
                               .deliver = [this](const NetworkMessage& message) { deliver(message); }}),
          exchange(universe, tables,
                   {.send =
                        [this, here](const std::vector<std::uint32_t>& goals, const NetworkAction& action) {
                          forwarder.forward({here, 0, goals, encode_action(action)});
                        },
                    .tell_tasks = [&all, here](const AddressExchange::Id& id,
                                               const AddressesMessage& message) { all.tell(here, id, message); }}) {}
    void deliver(const NetworkMessage& message) {
      const auto action = decode_action(message.body);
      ASSERT_TRUE(action);
      if (const auto* given = std::get_if<NodeGives>(&*action)) exchange.take(message.from, *given);
      if (const auto* taken = std::get_if<NodeTakesBack>(&*action)) exchange.take(message.from, *taken);
      if (const auto* over = std::get_if<ExchangeOver>(&*action)) exchange.take(message.from, *over);
    }
    UniverseTable universe;
    NetworkTables tables;
    TreeForwarder<NetworkMessage> forwarder;
    AddressExchange exchange;
  };

  Daemon& of_task(std::uint32_t task) { return *daemons_[task / 2]; }
  Daemon& operator[](std::uint32_t node) { return *daemons_[node]; }

  void give(std::uint32_t task, std::uint8_t value, std::uint32_t round = 1) {
    values[task] = value;
    waiting[task] = round;
    answers.erase(task);
    of_task(task).exchange.give({kTable, round}, task, {{task, "key", {value}}});
  }
  void end(std::uint32_t task) {
    const auto waits = waiting.extract(task);
    if (!waits.empty()) of_task(task).exchange.take_back({kTable, waits.mapped()}, task);
  }
  void tell(std::uint32_t node, const AddressExchange::Id& id, const AddressesMessage& message) {
    for (std::uint32_t task = 0; task < table_.tasks; ++task) {
      if (task / 2 != node || !waiting.contains(task) || waiting[task] != id.second) continue;
      waiting.erase(task);
      answers[task] = message;
    }
  }
  // One message of a link that has some; false: there is none.
  bool step(std::minstd_rand& random) {
    std::erase_if(links, [](const auto& link) { return link.second.empty(); });
    if (links.empty()) return false;
    auto link = links.begin();
    std::advance(link, random() % links.size());
    const auto [from, to] = link->first;
    const NetworkMessage message = link->second.front();
    link->second.pop_front();
    if (!dead.contains(to)) daemons_[to]->forwarder.forward(message);
    return true;
  }
  void run() {
    std::minstd_rand random(1);
    while (step(random)) {
    }
  }
  // All that live are told.
  void lose(std::uint32_t node) {
    dead.insert(node);
    std::erase_if(links, [&](const auto& link) { return link.first.first == node || link.first.second == node; });
    for (std::uint32_t n = 0; n < daemons_.size(); ++n) {
      if (dead.contains(n)) continue;
      daemons_[n]->universe.set_state(node, NodeState::kLost);
      daemons_[n]->exchange.node_lost(node);
    }
  }
  // Which task has which value, as task `task` was told.
  std::map<std::uint32_t, std::uint8_t> told(std::uint32_t task) const {
    std::map<std::uint32_t, std::uint8_t> result;
    for (const TaskAddress& address : answers.at(task).addresses) result[address.task] = address.value.at(0);
    return result;
  }
  void expect_all_know_all() const {
    for (std::uint32_t task = 0; task < table_.tasks; ++task) {
      ASSERT_TRUE(answers.contains(task)) << task;
      EXPECT_EQ(answers.at(task).failure, "");
      EXPECT_EQ(told(task), values);
    }
  }
  void expect_failure(std::uint32_t task, const std::string& text) const {
    ASSERT_TRUE(answers.contains(task)) << task;
    EXPECT_NE(answers.at(task).failure.find(text), std::string::npos) << answers.at(task).failure;
  }

  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<NetworkMessage>> links{};
  std::set<std::uint32_t> dead{};
  std::map<std::uint32_t, std::uint8_t> values{};    // by task: what it gave last
  std::map<std::uint32_t, std::uint32_t> waiting{};  // by task: the round
  std::map<std::uint32_t, AddressesMessage> answers{};

 private:
  NetworkTable table_;
  std::vector<std::unique_ptr<Daemon>> daemons_{};
};

TEST(AddressExchange, AllLearnWhatAllGaveAndNobodyBefore) {
  Daemons daemons(small_table(14));
  for (std::uint32_t task = 13; task > 0; --task) {
    daemons.give(task, static_cast<std::uint8_t>(task));
    daemons.run();
    EXPECT_TRUE(daemons.answers.empty());
  }
  daemons.give(0, 100);
  daemons.run();
  daemons.expect_all_know_all();
}

TEST(AddressExchange, OneNodeNeedsNobody) {
  Daemons daemons(small_table(2));
  daemons.give(0, 1);
  daemons.give(1, 2);
  EXPECT_TRUE(daemons.links.empty());
  daemons.expect_all_know_all();
}

TEST(AddressExchange, RoundsAreKeptApart) {
  Daemons daemons(small_table(4));
  for (const std::uint32_t task : {0U, 1U, 2U}) daemons.give(task, 1, 1);
  daemons.give(3, 9, 2);  // of a run that is over
  daemons.run();
  EXPECT_TRUE(daemons.answers.empty());
  daemons.end(3);
  daemons.give(3, 2, 1);
  daemons.run();
  daemons.expect_all_know_all();
  for (std::uint32_t task = 0; task < 4; ++task) daemons.give(task, static_cast<std::uint8_t>(task + 50), 2);
  daemons.run();
  daemons.expect_all_know_all();
}

TEST(AddressExchange, WhoEndsBeforeIsWaitedForAgain) {
  Daemons daemons(small_table(4));
  daemons.give(2, 2);
  daemons.give(3, 3);
  daemons.run();  // the keeper has them
  daemons.end(3);
  daemons.run();
  daemons.give(0, 0);
  daemons.give(1, 1);
  daemons.run();
  EXPECT_TRUE(daemons.answers.empty());
  daemons.give(3, 33);
  daemons.run();
  daemons.expect_all_know_all();
}

// What the keeper sends has task 3's old address when it arrives.
TEST(AddressExchange, WhoEndsWhileItFinishesIsNotTakenForTheNext) {
  Daemons daemons(small_table(4));
  for (std::uint32_t task = 0; task < 4; ++task) daemons.give(task, static_cast<std::uint8_t>(task));
  // Now the answer is under way.
  std::minstd_rand random(1);
  while (daemons.answers.empty()) ASSERT_TRUE(daemons.step(random));
  daemons.end(3);
  daemons.give(3, 33);
  daemons.run();
  daemons.expect_failure(2, "a task ended while addresses were exchanged");
  daemons.expect_failure(3, "a task ended while addresses were exchanged");
  for (std::uint32_t task = 0; task < 4; ++task) daemons.give(task, static_cast<std::uint8_t>(task + 10));
  daemons.run();
  daemons.expect_all_know_all();
}

TEST(AddressExchange, ALostDaemonFailsItForAllThatWait) {
  for (const std::uint32_t lost : {0U, 1U, 3U}) {
    Daemons daemons(small_table(10));
    for (std::uint32_t task = 1; task < 10; ++task) daemons.give(task, 1);
    daemons.run();
    daemons.lose(lost);
    daemons.run();
    for (std::uint32_t task = 1; task < 10; ++task) {
      if (task / 2 != lost) daemons.expect_failure(task, "the daemon of n" + std::to_string(lost) + " is lost");
    }
    daemons.give(4, 1);
    daemons.expect_failure(4, "the daemon of n" + std::to_string(lost) + " is lost");
  }
}

TEST(AddressExchange, ADaemonThatItDoesNotNeedMayBeLost) {
  Daemons daemons(small_table(4));
  daemons.give(2, 1);
  daemons.give(3, 1);
  daemons.run();
  daemons.lose(6);
  daemons.give(0, 1);
  daemons.give(1, 1);
  daemons.run();
  daemons.expect_all_know_all();
}

TEST(AddressExchange, ATableThatIsLoadedNoMoreFails) {
  Daemons daemons(small_table(4));
  daemons[1].tables.unload("7", kTable);
  daemons.give(2, 1);
  daemons.expect_failure(2, "loaded no more");
  Daemons others(small_table(4));
  others.give(2, 1);
  others[0].tables.unload("7", kTable);
  others.give(3, 1);
  others.run();
  others.expect_failure(2, "not loaded on n0 any more");
  others.expect_failure(3, "not loaded on n0 any more");
}

TEST(AddressExchange, TooMuchFailsForAll) {
  NetworkTable table{"7", kTable, 4000, {}};
  for (std::uint32_t task = 0; task < 4000; ++task) table.windows.push_back({task, 0, task, "sn0", ""});
  std::map<std::uint32_t, std::string> failures;
  const UniverseTable universe({{NodeState::kMember}}, 0, 0);
  NetworkTables tables(0);
  tables.load(table);
  std::unique_ptr<AddressExchange> exchange;
  std::string failure;
  exchange = std::make_unique<AddressExchange>(
      universe, tables,
      AddressExchange::Places{.send =
                                  [&](const std::vector<std::uint32_t>&, const NetworkAction& action) {
                                    if (const auto* given = std::get_if<NodeGives>(&action))
                                      exchange->take(0, NodeGives(*given));
                                    if (const auto* over = std::get_if<ExchangeOver>(&action))
                                      exchange->take(0, ExchangeOver(*over));
                                  },
                              .tell_tasks = [&](const AddressExchange::Id&,
                                                const AddressesMessage& message) { failure = message.failure; }});
  for (std::uint32_t task = 0; task < 4000; ++task) {
    exchange->give({kTable, 1}, task, {{task, "key", MessageBytes(1000)}});
  }
  EXPECT_NE(failure.find("more than 3145728 bytes"), std::string::npos) << failure;
}

// Tasks come, end and come again while messages are under way, in any order. A task that is told sees itself as it is;
// and when all have ended, nothing of it is left for those that come then.
TEST(AddressExchange, NothingStaysOfTasksThatEnded) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::minstd_rand random(seed);
    Daemons daemons(small_table(8));
    std::uint8_t value = 0;
    for (int step = 0; step < 200; ++step) {
      const std::uint32_t task = static_cast<std::uint32_t>(random() % 8);
      if (daemons.waiting.contains(task)) {
        if (random() % 6 == 0) daemons.end(task);
      } else {
        if (daemons.answers.contains(task) && daemons.answers[task].failure.empty()) {
          EXPECT_EQ(daemons.told(task)[task], daemons.values[task]);
          EXPECT_EQ(daemons.told(task).size(), 8U);
        }
        daemons.give(task, ++value);
      }
      for (auto moves = random() % 4; moves > 0; --moves) daemons.step(random);
    }
    for (std::uint32_t task = 0; task < 8; ++task) daemons.end(task);
    daemons.run();
    for (std::uint32_t task = 0; task < 8; ++task) daemons.give(task, ++value);
    while (daemons.step(random)) {
    }
    daemons.expect_all_know_all();
  }
}

}  // namespace
}  // namespace openlapi::daemon
