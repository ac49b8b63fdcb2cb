// Two tasks whose adapters are all on one switch, in virtual time: different adapters are dead at the two ends, or pass
// short packets only, or nothing of what leaves over them; and one has more of them than the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "dataplane/base/epoch.h"
#include "dataplane/paths/channel_set.h"
#include "dataplane/tuning.h"
#include "tests/support/quiet_listener.h"
#include "tests/support/simulated_network.h"

namespace openlapi {
namespace {

constexpr std::uint32_t kPacket = 1472;
constexpr PeerIndex kTasks = 2;
constexpr Epoch kEpoch = Epoch{1} << kBeginningBits;
constexpr std::uint32_t kNothing = 0, kAll = UINT32_MAX;  // that an adapter passes

using Adapters = std::array<std::uint32_t, kTasks>;  // of each task

class Task final : public QuietListener {
 public:
  Task(PeerIndex self, SimulatedNetwork& network, bool one_switch, Adapters adapters, Clock& clock)
      : ports_(open(self, network, adapters[self])),
        config_(config_of(self)),
        set_(config_, transports_, clock, *this) {
    const PeerIndex peer = 1 - self;
    const std::uint32_t pairs = std::min(adapters[self], adapters[peer]);
    std::vector<OtherEnd> ends;
    std::string error;
    for (std::uint32_t here = 0; here != adapters[self]; ++here) {
      for (std::uint32_t there = 0; there != adapters[peer]; ++there) {
        if (here != there && !one_switch) continue;
        const PeerIndex number = here == there ? peer : peer + (there + 1) * kTasks;
        EXPECT_TRUE(ports_[here]->add_peer(number, SimulatedTransport::encode({peer, 0, there}), error)) << error;
        if (here != there) ends.push_back({transports_[here < pairs ? here : there], number, transports_[here]});
      }
    }
    channel_ = set_.make_channel(peer, std::span(transports_).first(pairs), {0, kEpoch}, ends);
  }

  bool send(std::size_t length) {
    const std::vector<std::byte> record(length);
    const ConstBuffer piece{record.data(), record.size()};
    return channel_->send({&piece, 1}, static_cast<std::uint32_t>(length));
  }
  void step(Nanoseconds now) {
    set_.receive();
    set_.transmit(now);
    set_.run_timers(now);
  }
  std::size_t longest() const { return channel_->max_record(); }
  bool settled() const { return set_.settled(); }
  std::size_t received() const { return received_; }
  std::uint64_t packets_over(std::size_t adapter) const { return ports_[adapter]->counters().packets_sent; }
  std::vector<PathStatus> paths() const { return channel_->path_statuses(); }
  const std::vector<PathChange>& told() const { return told_; }
  const Transport* adapter(std::size_t number) const { return transports_[number]; }

 private:
  static EndpointConfig config_of(PeerIndex self) {
    EndpointConfig config;
    config.self = self;
    config.tasks = kTasks;
    config.epoch = kEpoch;
    return config;
  }
  std::vector<std::unique_ptr<SimulatedTransport>> open(PeerIndex self, SimulatedNetwork& network,
                                                        std::uint32_t adapters) {
    std::vector<std::unique_ptr<SimulatedTransport>> ports;
    for (std::uint32_t adapter = 0; adapter != adapters; ++adapter) {
      PortConfig config;
      config.address = {self, 0, adapter};
      config.limits = {kPacket, 64, false, true};
      ports.push_back(std::make_unique<SimulatedTransport>(network, config));
      transports_.push_back(ports.back().get());
    }
    return ports;
  }

  PeerChannel* channel_to(PeerIndex, bool) override { return channel_.get(); }
  void channel_path_changed(PeerIndex, const PathChange& change) override { told_.push_back(change); }
  void channel_delivered(PeerIndex, std::span<std::byte> payload) override { received_ += payload.size(); }

  std::vector<Transport*> transports_;
  std::vector<std::unique_ptr<SimulatedTransport>> ports_;
  const EndpointConfig config_;
  ChannelSet set_;
  std::unique_ptr<PeerChannel> channel_;
  std::size_t received_ = 0;
  std::vector<PathChange> told_;
};

class Crossing : public testing::Test {
 protected:
  void begin(bool one_switch = true, Adapters adapters = {2, 2}) {
    for (PeerIndex task = 0; task != kTasks; ++task) {
      tasks_[task] = std::make_unique<Task>(task, network_, one_switch, adapters, time_.clock());
    }
  }
  void run(Nanoseconds longest, auto until) {
    for (const Nanoseconds end = time_.now() + longest; time_.now() < end && !until();) {
      for (auto& task : tasks_) task->step(time_.now());
      time_.run_until(time_.now() + 10 * kMicrosecond);
    }
  }
  void run(Nanoseconds time) {
    run(time, [] { return false; });
  }
  // Whether a record of the length arrives within that time, and its sender learns it.
  bool brings(PeerIndex from, std::size_t length, Nanoseconds longest) {
    const std::size_t before = tasks_[1 - from]->received();
    EXPECT_TRUE(tasks_[from]->send(length));
    const auto has_come = [&] { return tasks_[1 - from]->received() > before && tasks_[from]->settled(); };
    run(longest, has_come);
    return has_come();
  }
  // As much at a time as all paths carry together.
  void exchange_much() {
    for (int i = 0; i != 2000; ++i) {
      for (auto& task : tasks_) {
        while (task->send(task->longest())) {
        }
      }
      run(10 * kMicrosecond);
    }
    run(kSecond, [&] { return tasks_[0]->settled() && tasks_[1]->settled(); });
    EXPECT_TRUE(tasks_[0]->settled() && tasks_[1]->settled());
  }
  void fail_at_different_ends() {
    network_.narrow(0, 0, kNothing);
    network_.narrow(1, 1, kNothing);
  }

  VirtualTime time_;
  SimulatedNetwork network_{time_, 1};
  std::array<std::unique_ptr<Task>, kTasks> tasks_;
};

TEST_F(Crossing, DifferentAdaptersMayBeDeadAtTheTwoEnds) {
  begin();
  EXPECT_TRUE(brings(0, 8, kMillisecond));
  EXPECT_EQ(network_.counters().crossed, 0u) << "adapters of one number serve";
  fail_at_different_ends();
  EXPECT_TRUE(brings(0, 8, 200 * kMillisecond));
  EXPECT_TRUE(brings(0, 8, kMillisecond)) << "that path is known now";
  EXPECT_TRUE(brings(1, 8, kMillisecond)) << "to the other one as well";
  EXPECT_TRUE(brings(0, tasks_[0]->longest(), kMillisecond));
}

TEST_F(Crossing, ADeadPairIsFoundFromTheBeginning) {
  begin();
  fail_at_different_ends();
  EXPECT_TRUE(brings(1, 8, kSecond));
  EXPECT_TRUE(brings(0, 8, 100 * kMillisecond));
}

TEST_F(Crossing, IsNotTriedWhereNetworksAreSeparate) {
  begin(false);
  fail_at_different_ends();
  EXPECT_FALSE(brings(0, 8, 2 * kSecond));
  EXPECT_EQ(network_.counters().crossed, 0u);
}

TEST_F(Crossing, EndsWhenThePairServesAgain) {
  begin();
  fail_at_different_ends();
  EXPECT_TRUE(brings(0, 8, kSecond));
  for (PeerIndex task = 0; task != kTasks; ++task) network_.narrow(task, task, kAll);
  run(2 * kSecond);
  const std::uint64_t crossed = network_.counters().crossed;
  for (int i = 0; i != 20; ++i) {
    EXPECT_TRUE(brings(0, 8, 10 * kMillisecond));
    EXPECT_TRUE(brings(1, 8, 10 * kMillisecond));
  }
  EXPECT_EQ(network_.counters().crossed, crossed);
  for (PeerIndex task = 0; task != kTasks; ++task) {
    for (const PathStatus& path : tasks_[task]->paths()) EXPECT_EQ(path.end, 1 - task);
  }
}

// One pair serves again, of the other one an adapter stays dead: nothing is used across beside it.
TEST_F(Crossing, EndsWhenAnotherPairServesAgain) {
  begin();
  fail_at_different_ends();
  EXPECT_TRUE(brings(0, 8, kSecond));
  EXPECT_TRUE(brings(1, 8, kSecond));
  network_.narrow(0, 0, kAll);
  run(2 * kSecond);
  exchange_much();
  run(kSecond);
  const std::uint64_t crossed = network_.counters().crossed;
  exchange_much();
  EXPECT_LT(network_.counters().crossed - crossed, 20u) << "probes";
  for (PeerIndex task = 0; task != kTasks; ++task) {
    for (const PathStatus& path : tasks_[task]->paths()) EXPECT_EQ(path.end, 1 - task);
  }
}

// The adapters of one end change places, and both are told of before a time-out would run out.
TEST_F(Crossing, WordOfAnAdapterIsOfNoOther) {
  begin();
  EXPECT_TRUE(brings(0, 8, kMillisecond));
  network_.narrow(0, 1, kNothing);
  network_.narrow(1, 0, kNothing);
  network_.tell_in_matrix(1, 0, false);
  EXPECT_TRUE(brings(0, 8, kSecond));
  for (int i = 0; i != 100; ++i) EXPECT_TRUE(brings(0, 8, kMillisecond));
  network_.narrow(1, 0, kAll);
  network_.tell_in_matrix(1, 0, true);
  network_.narrow(1, 1, kNothing);
  network_.tell_in_matrix(1, 1, false);
  EXPECT_TRUE(brings(0, 8, tuning::kFirstProbePause + 2 * tuning::kLinkLookPause));
}

TEST_F(Crossing, APathThatLosesLongPacketsIsLeft) {
  begin();
  network_.narrow(1, 0, kPacket / 2);
  EXPECT_TRUE(brings(0, tasks_[0]->longest(), kSecond));
  const std::uint64_t begin = network_.counters().too_long;
  const std::uint64_t over_first = tasks_[0]->packets_over(0);
  for (int i = 0; i != 500; ++i) {
    EXPECT_TRUE(brings(0, tasks_[0]->longest(), 2 * kMillisecond));
    run(10 * kMillisecond);
  }
  EXPECT_LT(network_.counters().too_long - begin, 30u) << "probes, in five seconds";
  EXPECT_LT(tasks_[0]->packets_over(0) - over_first, 30u);
  network_.narrow(1, 0, kAll);
  run(1100 * kMillisecond);
  const std::uint64_t again = tasks_[0]->packets_over(0);
  EXPECT_TRUE(brings(0, tasks_[0]->longest(), 2 * kMillisecond));
  EXPECT_GT(tasks_[0]->packets_over(0), again) << "it is used again";
}

// What leaves over an adapter of task 1 vanishes, so that over that path task 0 hears nothing, and its own packets
// arrive. `answers`: task 1 has nothing to say but acknowledgements.
struct OneWayDeath {
  bool one_switch, answers;
};

class OneWay : public Crossing, public testing::WithParamInterface<OneWayDeath> {
 protected:
  // The task takes no step meanwhile, and the other one goes on.
  void be_late(PeerIndex late, Nanoseconds time) {
    Task& other = *tasks_[1 - late];
    const Nanoseconds begin = time_.now();
    for (unsigned step = 0; time_.now() < begin + time; ++step) {
      if (step % 100 == 0 && (late == 1 || !GetParam().answers)) other.send(8);
      other.step(time_.now());
      time_.run_until(time_.now() + 10 * kMicrosecond);
    }
  }
  std::uint64_t failures(PeerIndex task, std::size_t path) const { return tasks_[task]->paths()[path].failures; }
};

TEST_P(OneWay, IsFoundOnceHoweverOftenSomebodyIsLate) {
  begin(GetParam().one_switch);
  EXPECT_TRUE(brings(0, 8, kMillisecond));
  network_.cut({1, 0, SimulatedNetwork::Direction::outgoing});
  EXPECT_TRUE(brings(0, 8, kSecond));
  for (unsigned round = 0; round != 30; ++round) {
    be_late(1 - round % 2, (7 + 3 * round) * kMillisecond);
    run(kSecond, [&] { return tasks_[0]->settled() && tasks_[1]->settled(); });
    EXPECT_TRUE(tasks_[0]->settled() && tasks_[1]->settled());
    run(100 * kMillisecond);
    EXPECT_TRUE(brings(0, 8, kMillisecond));
  }
  EXPECT_EQ(failures(0, 0), 1u);
  EXPECT_LE(failures(1, 0), 1u) << "may not know it";
  EXPECT_EQ(failures(0, 1) + failures(1, 1), 0u) << "the other path serves all the time";

  network_.mend_all();
  run(1100 * kMillisecond);
  for (const auto& task : tasks_) {
    for (const PathStatus& path : task->paths()) EXPECT_EQ(path.silent_since, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(All, OneWay,
                         testing::Values(OneWayDeath{false, true}, OneWayDeath{false, false}, OneWayDeath{true, true},
                                         OneWayDeath{true, false}));

// One task has more adapters than the other.
class Uneven : public Crossing, public testing::WithParamInterface<Adapters> {
 protected:
  void begin(bool one_switch = true) { Crossing::begin(one_switch, GetParam()); }
  std::uint32_t fewer() const { return std::min(GetParam()[0], GetParam()[1]); }
  std::uint32_t most() const { return std::max(GetParam()[0], GetParam()[1]); }
  PeerIndex richer() const { return GetParam()[0] > GetParam()[1] ? 0 : 1; }
  void expect_both_ways(Nanoseconds longest) {
    for (PeerIndex task = 0; task != kTasks; ++task) {
      EXPECT_TRUE(brings(task, 8, longest)) << "from task " << task;
      EXPECT_TRUE(brings(task, tasks_[task]->longest(), longest)) << "from task " << task;
    }
  }
};

TEST_P(Uneven, AdaptersWithoutPairCarryNothingWhileTheOthersServe) {
  begin();
  expect_both_ways(kMillisecond);
  exchange_much();
  run(kSecond);
  EXPECT_EQ(network_.counters().crossed, 0u);
  for (std::uint32_t adapter = fewer(); adapter != most(); ++adapter)
    EXPECT_EQ(tasks_[richer()]->packets_over(adapter), 0u);
  EXPECT_EQ(tasks_[0]->paths().size(), fewer());
  EXPECT_EQ(tasks_[1]->paths().size(), fewer());
}

TEST_P(Uneven, AnyAdapterThatIsLeftServes) {
  begin();
  for (std::uint32_t left = most(); left-- != 0;) {
    for (std::uint32_t adapter = 0; adapter != most(); ++adapter)
      network_.narrow(richer(), adapter, adapter == left ? kAll : kNothing);
    EXPECT_TRUE(brings(0, 8, 2 * kSecond)) << "over adapter " << left;
    EXPECT_TRUE(brings(1, 8, 2 * kSecond)) << "over adapter " << left;
    expect_both_ways(kMillisecond);
    const std::uint64_t before = tasks_[richer()]->packets_over(left);
    exchange_much();
    EXPECT_GT(tasks_[richer()]->packets_over(left), before + 1000);
  }
}

TEST_P(Uneven, TheDeathOfTheFirstIsFoundAtOnceWhereTheLinkIsToldToBeDown) {
  begin();
  expect_both_ways(kMillisecond);
  for (std::uint32_t adapter = 0; adapter != most() - 1; ++adapter) {
    network_.narrow(richer(), adapter, kNothing);
    network_.tell_of_link(richer(), adapter, false);
  }
  run(2 * tuning::kLinkLookPause);
  EXPECT_TRUE(brings(richer(), 8, tuning::kFirstProbePause + 2 * tuning::kLinkLookPause));
  expect_both_ways(2 * tuning::kShortestRetransmitTimeout);
}

// What the matrix has of it is wrong, and of those that are dead it has nothing.
TEST_P(Uneven, TheOneThatIsLeftServesAlthoughItIsSaidToBeDown) {
  begin();
  expect_both_ways(kMillisecond);
  network_.tell_in_matrix(richer(), most() - 1, false);
  run(kSecond);
  for (std::uint32_t adapter = 0; adapter != most() - 1; ++adapter) network_.narrow(richer(), adapter, kNothing);
  EXPECT_TRUE(brings(1 - richer(), 8, 20 * kSecond));
  EXPECT_TRUE(brings(richer(), 8, 20 * kSecond));
}

TEST_P(Uneven, EndsWhenThePairsServeAgain) {
  begin();
  for (std::uint32_t adapter = 0; adapter != fewer(); ++adapter) network_.narrow(richer(), adapter, kNothing);
  EXPECT_TRUE(brings(0, 8, kSecond));
  EXPECT_TRUE(brings(1, 8, kSecond));
  for (std::uint32_t adapter = 0; adapter != fewer(); ++adapter) network_.narrow(richer(), adapter, kAll);
  run(2 * kSecond);
  exchange_much();
  const std::uint64_t crossed = network_.counters().crossed;
  exchange_much();
  run(kSecond);
  EXPECT_EQ(network_.counters().crossed, crossed);
  for (PeerIndex task = 0; task != kTasks; ++task) {
    EXPECT_EQ(tasks_[task]->paths().size(), fewer());
    for (const PathStatus& path : tasks_[task]->paths()) EXPECT_EQ(path.end, 1 - task);
  }
}

// With or without word of the link. Who has only followed the other one has nothing to tell.
class Told : public Crossing, public testing::WithParamInterface<bool> {};

TEST_P(Told, WhichAdapterFailsAndWhichOneTakesOver) {
  begin(true, {3, 1});
  const auto set_first = [&](bool up) {
    network_.narrow(0, 0, up ? kAll : kNothing);
    if (GetParam()) network_.tell_of_link(0, 0, up);
  };
  const auto work = [&] {
    for (int i = 0; i != 100; ++i) {
      EXPECT_TRUE(brings(0, 8, kSecond));
      EXPECT_TRUE(brings(1, 8, kSecond));
      run(20 * kMillisecond);
    }
  };
  const std::array<const Transport*, kTasks> first{tasks_[0]->adapter(0), tasks_[1]->adapter(0)};
  work();
  set_first(false);
  work();
  for (PeerIndex task = 0; task != kTasks; ++task) {
    if (task == 1 && tasks_[task]->told().empty()) continue;
    ASSERT_EQ(tasks_[task]->told().size(), 1u) << task;
    const PathChange& change = tasks_[task]->told()[0];
    EXPECT_TRUE(change.failed());
    EXPECT_EQ(change.path, first[task]);
    EXPECT_EQ(change.end, 1 - task) << "at home";
    ASSERT_NE(change.taken, nullptr);
    EXPECT_EQ(change.taken == first[task], task == 1);
    EXPECT_NE(change.taken_end, 1 - task);
    for (const PathStatus& path : tasks_[task]->paths()) EXPECT_EQ(path.silent_since, 0u) << "it serves elsewhere";
  }
  set_first(true);
  work();
  for (PeerIndex task = 0; task != kTasks; ++task) {
    if (task == 1 && tasks_[task]->told().empty()) continue;
    ASSERT_EQ(tasks_[task]->told().size(), 2u) << task;
    EXPECT_FALSE(tasks_[task]->told()[1].failed());
    EXPECT_EQ(tasks_[task]->told()[1].path, first[task]);
    EXPECT_EQ(tasks_[task]->told()[1].end, 1 - task);
    EXPECT_EQ(tasks_[task]->paths()[0].failures, 1u);
  }
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutWord, Told, testing::Bool());

// The peer, who has heard the same word, asks over another adapter before that has answered.
TEST_F(Crossing, ThatNoneServesIsNotToldWhileOthersAreAsked) {
  begin(true, {3, 1});
  const auto work = [&] {
    for (int i = 0; i != 100; ++i) {
      EXPECT_TRUE(brings(0, 8, kSecond));
      EXPECT_TRUE(brings(1, 8, kSecond));
      run(20 * kMillisecond);
    }
  };
  work();
  network_.narrow(0, 0, kNothing);
  network_.tell_in_matrix(0, 0, false);
  work();
  for (PeerIndex task = 0; task != kTasks; ++task) {
    ASSERT_EQ(tasks_[task]->told().size(), 1u) << task;
    EXPECT_EQ(tasks_[task]->told()[0].cause, PathCause::link_down);
    EXPECT_FALSE(tasks_[task]->told()[0].none_serves);
    EXPECT_NE(tasks_[task]->told()[0].taken, nullptr);
  }
}

// A task that is late answers over no path, and then over all.
TEST_P(Uneven, APauseLeadsNobodyAstray) {
  begin();
  expect_both_ways(kMillisecond);
  for (unsigned round = 0; round != 30; ++round) {
    const PeerIndex late = round % 2;
    const Nanoseconds end = time_.now() + (7 + 3 * round) * kMillisecond;
    for (unsigned step = 0; time_.now() < end; ++step) {
      if (step % 100 == 0) tasks_[1 - late]->send(8);
      tasks_[1 - late]->step(time_.now());
      time_.run_until(time_.now() + 10 * kMicrosecond);
    }
    run(kMillisecond);
    const std::uint64_t crossed = network_.counters().crossed;
    for (int i = 0; i != 100; ++i) {
      EXPECT_TRUE(brings(0, 8, 10 * kMillisecond));
      EXPECT_TRUE(brings(1, 8, 10 * kMillisecond));
    }
    EXPECT_LT(network_.counters().crossed - crossed, 20u) << round;
    run(100 * kMillisecond);
  }
}

TEST_P(Uneven, AdaptersOnOtherNetworksAreNotTried) {
  begin(false);
  for (std::uint32_t adapter = 0; adapter != fewer(); ++adapter) network_.narrow(richer(), adapter, kNothing);
  EXPECT_FALSE(brings(0, 8, 2 * kSecond));
  EXPECT_EQ(network_.counters().crossed, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, Uneven, testing::Values(Adapters{3, 1}, Adapters{1, 3}, Adapters{2, 3}, Adapters{8, 1}));

}  // namespace
}  // namespace openlapi
