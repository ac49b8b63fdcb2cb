// Two tasks in polling mode with two contexts each, in virtual time: a program makes calls on one context at a time,
// and goes on to the other one as soon as it has what it needs itself. What it has left is looked after as by the
// dataplane thread, or by nobody.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/endpoint/endpoint.h"
#include "dataplane/poller/upkeep_pacing.h"
#include "dataplane/sync/collectives.h"
#include "tests/support/address.h"
#include "tests/support/quiet_host.h"
#include "tests/support/simulated_network.h"

namespace openlapi {
namespace {

constexpr std::uint32_t kTasks = 2, kHandles = 2;

class CountingHost final : public HandlerHost {
 public:
  HeaderVerdict run_header_handler(const ArrivedMessage&) override {
    ++header_handlers;
    return {};
  }
  bool run_completion_handler(const CompletionRun&, bool) override { return true; }
  void run_send_handler(const SendCompletion&) override {}
  void report_fault(Fault, PeerIndex) override { ++faults; }

  unsigned header_handlers = 0, faults = 0;
};

// One context of a task. Its packets have an adapter of their own, so that a test can cut them off alone.
class Handle final : public RouteResolver {
 public:
  Handle(SimulatedNetwork& network, VirtualTime& time, PeerIndex self, std::uint32_t number, bool knows_epochs)
      : transport(network, {.address = {self, number, number}}), time_(time), knows_epochs_(knows_epochs) {
    EndpointConfig config;
    config.self = self;
    config.tasks = kTasks;
    config.job_key = {0x1ac1, 0};
    config.instance = number + 1;
    Transport* only = &transport;
    endpoint = std::make_unique<Endpoint>(config, std::span(&only, 1), time_.clock(), *this, host);
  }
  Route resolve(PeerIndex peer) override {
    std::string error;
    EXPECT_TRUE(transport.add_peer(peer, SimulatedTransport::encode({peer, number(), number()}), error)) << error;
    Route route;
    route.paths[0] = &transport;
    route.count = 1;
    route.epoch = knows_epochs_ ? 1 : 0;
    return route;
  }

  void step() {
    endpoint->progress();
    ++steps_;
  }
  // As the dataplane thread does it.
  void look() {
    if (time_.now() < next_look_) return;
    const bool attended = !pacing_.is_neglected(steps_);
    const bool busy = attended || endpoint->progress(Step::upkeep) != 0;
    next_look_ = time_.now() + (busy ? pacing_.usual_pause() : pacing_.pause_when_all_is_quiet());
  }

  SimulatedTransport transport;
  CountingHost host;
  std::unique_ptr<Endpoint> endpoint;

 private:
  std::uint32_t number() const { return transport.network(); }

  VirtualTime& time_;
  const bool knows_epochs_;
  std::uint32_t steps_ = 0;
  UpkeepPacing pacing_;
  Nanoseconds next_look_ = 0;
};

// A call that waits.
struct Call {
  std::uint32_t handle;
  std::function<void(Endpoint&)> begin;
  std::function<bool(Endpoint&)> done;
};

// The parameter: whether the incarnations of the tasks know each other before they talk.
class TwoHandles : public testing::TestWithParam<bool> {
 protected:
  TwoHandles() {
    for (PeerIndex task = 0; task != kTasks; ++task) {
      for (std::uint32_t number = 0; number != kHandles; ++number) {
        handles_[task][number] = std::make_unique<Handle>(network_, time_, task, number, GetParam());
      }
    }
  }

  Handle& handle(PeerIndex task, std::uint32_t number) { return *handles_[task][number]; }
  Endpoint& endpoint(PeerIndex task, std::uint32_t number) { return *handle(task, number).endpoint; }
  void calls(PeerIndex task, Call call) { programs_[task].push_back(std::move(call)); }
  bool is_over(PeerIndex task) const { return at_[task] == programs_[task].size(); }

  // Of the program of a task, if any of it is left, a step.
  void go_on(PeerIndex task) {
    if (is_over(task)) return;
    Call& call = programs_[task][at_[task]];
    Handle& used = handle(task, call.handle);
    if (call.begin != nullptr) std::exchange(call.begin, nullptr)(*used.endpoint);
    used.step();
    if (call.done(*used.endpoint)) ++at_[task];
  }
  void run(Nanoseconds longest, bool upkeep = true) {
    for (const Nanoseconds end = time_.now() + longest; time_.now() < end && !(is_over(0) && is_over(1));) {
      for (PeerIndex task = 0; task != kTasks; ++task) {
        go_on(task);
        for (auto& left : handles_[task]) {
          if (upkeep) left->look();
        }
      }
      time_.run_until(time_.now() + 100 * kMicrosecond);
    }
  }
  void cut(PeerIndex from, std::uint32_t number) {
    network_.cut({from, number, SimulatedNetwork::Direction::outgoing});
  }
  void mend(PeerIndex from, std::uint32_t number) {
    network_.mend({from, number, SimulatedNetwork::Direction::outgoing});
  }
  // Of no bytes, that moves a counter of the other task.
  static void put(Endpoint& from, PeerIndex to, int& counter) {
    ASSERT_EQ(from.put({to, 0, nullptr, 0, address(&counter), 0, 0}), Submit::accepted);
  }
  static bool at_once(Endpoint&) { return true; }

  VirtualTime time_;
  SimulatedNetwork network_{time_, 1};
  std::array<std::array<std::unique_ptr<Handle>, kHandles>, kTasks> handles_;
  std::array<std::vector<Call>, kTasks> programs_;
  std::array<std::size_t, kTasks> at_{};
};

// Task 0 puts on its first handle and waits on its second; task 1 waits on its first one, and puts on the second.
class LeftBehind : public TwoHandles {
 protected:
  LeftBehind() {
    calls(0, {0,
              [this](Endpoint& endpoint) {
                cut(0, 0);
                put(endpoint, 1, arrived_[1]);
              },
              [this](Endpoint&) {
                mend(0, 0);  // the packet has left, and is lost
                return true;
              }});
    calls(0, {1, nullptr, [this](Endpoint&) { return arrived_[0] == 1; }});
    calls(1, {0, nullptr, [this](Endpoint&) { return arrived_[1] == 1; }});
    calls(1, {1, [this](Endpoint& endpoint) { put(endpoint, 0, arrived_[0]); }, at_once});
  }

  std::array<int, kTasks> arrived_{};  // counters of the tasks
};

TEST_P(LeftBehind, TheyWouldWaitForEachOtherWithoutUpkeep) {
  run(60 * kSecond, false);
  EXPECT_FALSE(is_over(0));
  EXPECT_FALSE(is_over(1));
}

TEST_P(LeftBehind, WhatWasLostIsSentAgain) {
  run(kSecond);
  EXPECT_TRUE(is_over(0));
  EXPECT_TRUE(is_over(1));
}

INSTANTIATE_TEST_SUITE_P(Epochs, LeftBehind, testing::Bool());

// Task 0 has what task 1 has put, but its acknowledgements are lost, for which task 1 waits.
class Unacknowledged : public TwoHandles {
 protected:
  Unacknowledged() {
    calls(0, {0, [this](Endpoint&) { cut(0, 0); },
              [this](Endpoint&) {
                if (arrived_[0] == 1) mend(0, 0);
                return arrived_[0] == 1;
              }});
    calls(0, {1, nullptr, [this](Endpoint&) { return arrived_[0] == 2; }});
    calls(1, {0, [this](Endpoint& endpoint) { put(endpoint, 0, arrived_[0]); },
              [](Endpoint& endpoint) { return endpoint.drained(); }});
    calls(1, {1, [this](Endpoint& endpoint) { put(endpoint, 0, arrived_[0]); }, at_once});
  }

  std::array<int, kTasks> arrived_{};
};

TEST_P(Unacknowledged, TheyWouldWaitForEachOtherWithoutUpkeep) {
  run(60 * kSecond, false);
  EXPECT_FALSE(is_over(0));
  EXPECT_FALSE(is_over(1));
}

TEST_P(Unacknowledged, WhatComesAgainIsAcknowledgedAgain) {
  run(2 * kSecond);
  EXPECT_TRUE(is_over(0));
  EXPECT_TRUE(is_over(1));
  EXPECT_EQ(arrived_[0], 2);
}

INSTANTIATE_TEST_SUITE_P(Epochs, Unacknowledged, testing::Values(true));

// Nothing is lost, but there is no room for all at once. The program may use its memory again, and counts it as sent.
TEST_P(TwoHandles, WhatTheProgramHasGivenAwayLeaves) {
  std::vector<std::byte> data(8000, std::byte{7}), place(data.size());
  int puts = 0, given_away = 0, arrived = 0, answered = 0;
  calls(0, {0,
            [&](Endpoint& endpoint) {
              while (endpoint.put({1, address(place.data()), data.data(), data.size(), address(&arrived),
                                   address(&given_away), 0}) == Submit::accepted) {
                ++puts;
              }
              EXPECT_EQ(given_away, puts);
              std::fill(data.begin(), data.end(), std::byte{1});
            },
            at_once});
  calls(0, {1, nullptr, [&](Endpoint&) { return answered == 1; }});
  calls(1, {0, nullptr, [&](Endpoint&) { return arrived == puts; }});
  calls(1, {1, [&](Endpoint& endpoint) { put(endpoint, 0, answered); }, at_once});
  run(10 * kSecond);
  EXPECT_TRUE(is_over(0));
  EXPECT_TRUE(is_over(1));
  EXPECT_EQ(place, std::vector<std::byte>(place.size(), std::byte{7}));
}

// A token goes round over both handles of both tasks, and barriers are left by who has what it needs of them.
TEST_P(TwoHandles, GoOnWhereEveryFifthPacketIsLost) {
  NetworkFaults faults;
  faults.loss = 0.2;
  faults.duplication = 0.1;
  faults.late = 0.05;
  faults.latest = 2 * kMillisecond;
  network_.set_faults(faults);
  constexpr int kRounds = 100;
  std::array<std::array<int, kHandles>, kTasks> arrived{};
  const auto barrier = [](Endpoint& endpoint) { endpoint.collectives().begin_barrier(); };
  const auto is_open = [](Endpoint& endpoint) { return endpoint.collectives().state() == CollectiveState::done; };
  for (int round = 1; round <= kRounds; ++round) {
    calls(0, {0, [&](Endpoint& endpoint) { put(endpoint, 1, arrived[1][0]); }, at_once});
    calls(0, {1, nullptr, [&, round](Endpoint&) { return arrived[0][1] == round; }});
    calls(1, {0, nullptr, [&, round](Endpoint&) { return arrived[1][0] == round; }});
    calls(1, {1, [&](Endpoint& endpoint) { put(endpoint, 0, arrived[0][1]); }, at_once});
    for (PeerIndex task = 0; task != kTasks; ++task) {
      for (std::uint32_t number = 0; number != kHandles; ++number) calls(task, {number, barrier, is_open});
    }
  }
  run(300 * kSecond);
  EXPECT_TRUE(is_over(0));
  EXPECT_TRUE(is_over(1));
  EXPECT_GT(network_.counters().lost, 100u);
  for (PeerIndex task = 0; task != kTasks; ++task) {
    for (std::uint32_t number = 0; number != kHandles; ++number) EXPECT_EQ(handle(task, number).host.faults, 0u);
  }
}

// Task 0 computes. What task 1 sends meanwhile shows in the next call, whether it is sent again by then or not.
class Acquainted : public TwoHandles {};

TEST_P(Acquainted, TakeNothingNewBetweenCalls) {
  int arrived = 0;
  calls(
      1,
      {0,
       [&](Endpoint& endpoint) {
         for (int i = 0; i != 3; ++i) put(endpoint, 0, arrived);
         ASSERT_EQ(endpoint.active_message({0, 1, nullptr, 0, nullptr, 0, address(&arrived), 0, 0}), Submit::accepted);
       },
       [](Endpoint& endpoint) { return endpoint.drained(); }});
  calls(0, {1, nullptr, [](Endpoint&) { return false; }});
  run(5 * kSecond);
  EXPECT_FALSE(is_over(1)) << "nothing is acknowledged";
  EXPECT_EQ(arrived, 0);
  EXPECT_EQ(handle(0, 0).host.header_handlers, 0u);
  network_.set_faults({.loss = 1});
  endpoint(0, 0).progress(Step::upkeep);  // and now nothing waits at its port
  endpoint(0, 0).progress();
  EXPECT_EQ(arrived, 4);
  EXPECT_EQ(handle(0, 0).host.header_handlers, 1u);
  endpoint(0, 0).progress();
  EXPECT_EQ(arrived, 4);
}

INSTANTIATE_TEST_SUITE_P(Epochs, Acquainted, testing::Values(true));

// More than is kept: the rest comes again, and everything once.
TEST_P(TwoHandles, WhatIsKeptBackIsBounded) {
  constexpr int kPuts = 4000;
  const std::vector<std::byte> data(1000, std::byte{7});
  std::vector<std::byte> place(data.size());
  int sent = 0, arrived = 0;
  calls(1, {0, nullptr, [&](Endpoint& endpoint) {
              while (sent != kPuts && endpoint.put({0, address(place.data()), data.data(), data.size(),
                                                    address(&arrived), 0, 0}) == Submit::accepted) {
                ++sent;
              }
              return sent == kPuts && endpoint.drained();
            }});
  calls(0, {1, nullptr, [this](Endpoint&) { return time_.now() > 20 * kSecond; }});
  calls(0, {0, nullptr, [&](Endpoint&) { return arrived == kPuts; }});
  run(60 * kSecond);
  EXPECT_TRUE(is_over(0));
  EXPECT_TRUE(is_over(1));
  EXPECT_EQ(arrived, kPuts);
  EXPECT_EQ(place, data);
}

INSTANTIATE_TEST_SUITE_P(Epochs, TwoHandles, testing::Bool());

}  // namespace
}  // namespace openlapi
