// What a purge ends and what it does not touch: collectives, messages that wait for their handler, tasks that cannot be
// purged; and operations that end because their memory is not there.
#include <gtest/gtest.h>

#include "dataplane/counter/counters.h"
#include "dataplane/message/record_bytes.h"
#include "dataplane/peers/peer_table.h"
#include "dataplane/sync/collectives.h"
#include "dataplane/tuning.h"
#include "tests/support/bulk_pair.h"

namespace openlapi {
namespace {

constexpr PeerIndex kVictim = 1, kOther = 2;

// Three tasks; the parameter says whether over a reliable transport.
class Purge : public testing::TestWithParam<bool> {
 protected:
  Purge() : job_(3, config()) {
    for (PeerIndex i = 0; i < 3; ++i) {
      job_.task(i).transport.set_room(1000);
      if (!GetParam()) job_.task(i).transport.make_lossy(0, 1);
    }
    job_.start();
  }
  static EndpointConfig config() {
    EndpointConfig config;
    config.epoch = 10;
    config.timeout = 10 * kSecond;
    config.idle_loops_between_timers = 1;
    return config;
  }

  Endpoint& mine() { return job_[0]; }
  auto& faults() { return job_.task(0).host.faults; }
  void run_for(Nanoseconds time) {
    for (Nanoseconds passed = 0; passed < time; passed += 10 * kMillisecond) {
      for (PeerIndex i = 0; i < 3; ++i) job_[i].progress();
      job_.clock.advance(10 * kMillisecond);
    }
  }

  Job job_;
  std::vector<unsigned char> source_ = pattern(100'000);
};

// Of tasks that cannot be purged, or are purged already, nothing changes.
TEST_P(Purge, CollectivesAreRefusedAsLongAsSomebodyIsPurged) {
  const auto purge_and_resume = [&](PeerIndex by, PeerIndex whom) {
    job_[by].purge(whom);
    job_[by].resume(whom, 100);
  };
  for (const PeerIndex nobody : {0u, 3u, 99u}) mine().purge(nobody);
  EXPECT_FALSE(mine().peers().purged(0));
  mine().purge(kVictim);
  mine().purge(kVictim);
  mine().collectives().begin_exchange(1);
  EXPECT_EQ(mine().collectives().state(), CollectiveState::peer_purged);
  run_for(kSecond);
  for (const PeerIndex task : {kVictim, kOther}) job_[task].collectives().begin_barrier();
  run_for(kSecond);
  for (const PeerIndex task : {kVictim, kOther}) {
    EXPECT_NE(job_[task].collectives().state(), CollectiveState::pending) << task;
  }
  EXPECT_TRUE(faults().empty()) << "its user knows";
  mine().resume(kVictim, 100);
  mine().resume(kVictim, 101);
  mine().resume(kOther, 101);
  purge_and_resume(kVictim, 0);
  for (PeerIndex task = 0; task < 3; ++task) job_[task].collectives().begin_barrier();
  run_for(2 * kSecond);
  for (PeerIndex task = 0; task < 3; ++task) {
    EXPECT_EQ(job_[task].collectives().state(), CollectiveState::done) << task;
  }
}

// Also one who was never talked to.
TEST_P(Purge, APurgeEndsACollective) {
  mine().collectives().begin_barrier();  // sends to the victim and waits for the other
  EXPECT_EQ(mine().peers().contacted().size(), 1u);
  mine().purge(kOther);
  EXPECT_EQ(mine().collectives().state(), CollectiveState::peer_purged);
  EXPECT_TRUE(faults().empty());
}

// Nor does the task of the one that was purged end for messages that no fence has confirmed: all is in place.
TEST_P(Purge, InOrderIsNoLossForTheOther) {
  int completion = 0;
  std::uint64_t there = 0;
  for (int put = 0; put < 10; ++put) {
    ASSERT_EQ(job_[kVictim].put({0, address(&there), source_.data(), 8, 0, 0, address(&completion)}), Submit::accepted);
  }
  run_for(kSecond);
  ASSERT_EQ(completion, 10);
  mine().purge(kVictim);
  mine().resume(kVictim, 100);
  ASSERT_EQ(mine().put({kVictim, address(&there), source_.data(), 8, 0, 0, 0}), Submit::accepted);
  run_for(kSecond);
  EXPECT_TRUE(job_.task(kVictim).host.faults.empty()) << "before it has purged this one as well";
}

// The other's user hears of nothing that a purged one has sent.
TEST_P(Purge, WhatAPurgedPeersMessageWaitedForIsForgotten) {
  int asked = 0;
  job_.task(0).host.on_header = [&](const ArrivedMessage&) {
    ++asked;
    return HeaderVerdict{Delivery::drop};
  };
  for (const std::size_t length : {std::size_t{8}, source_.size()}) {
    ASSERT_EQ(job_[kVictim].active_message({0, 1, nullptr, 0, source_.data(), length, 0, 0, 0}), Submit::accepted);
  }
  run_for(100 * kMillisecond);
  ASSERT_GT(asked, 10);
  mine().purge(kVictim);
  asked = 0;
  run_for(100 * kMillisecond);
  EXPECT_EQ(asked, 0);
  EXPECT_FALSE(mine().has_work());
  EXPECT_EQ(mine().deadline(), UINT64_MAX);
}

TEST_P(Purge, AnOperationWhoseMemoryIsNotThereEndsWithItsCounters) {
  using Faults = std::vector<std::pair<Fault, PeerIndex>>;
  for (const auto& [why, fault] : {std::pair(Submit::origin_memory, Fault::origin_vector),
                                   std::pair(Submit::target_memory, Fault::target_vector)}) {
    int origin = 0, completion = 0;
    mine().give_up_unbegun({kOther, address(&origin), address(&completion), {}}, why);
    EXPECT_EQ(faults(), (Faults{{fault, kOther}}));
    EXPECT_EQ(origin + completion, 2);
    EXPECT_EQ(mine().counters().loss_of(address(&origin)), CounterLoss::none);
    faults().clear();
  }
}

// The next incarnation of a task that was lost is told nothing of that.
TEST(LostTask, IsNotToldWhenItIsAnother) {
  EndpointConfig config;
  config.idle_loops_between_timers = 1;
  Job job(2, config);
  job.start();
  std::uint64_t word = 7, got = 0;
  int counter = 0;
  job.task(0).transport.set_gone(1);
  ASSERT_EQ(job[0].get({1, address(&word), &got, 8, 0, 0}), Submit::accepted);
  for (int step = 0; step < 10; ++step) {
    job.clock.advance(tuning::kWatchPeers);
    job[0].progress();
  }
  ASSERT_EQ(job.task(0).host.faults.size(), 1u);
  job.task(0).transport.set_gone(kUnknownPeer);
  Task& task = job.task(1);
  task.transport.forget_waiting();
  Transport* transport = &task.transport;
  config.self = 1;
  config.tasks = 2;
  task.endpoint = std::make_unique<Endpoint>(config, std::span(&transport, 1), job.clock, task, task.host);
  ASSERT_EQ(job[1].get({0, address(&word), &got, 8, 0, address(&counter)}), Submit::accepted);
  job.settle();
  EXPECT_EQ(counter, 1);
  EXPECT_TRUE(task.host.faults.empty());
}

// Records that wait for company in a packet are of the incarnation that they were written for; their addresses are,
// too.
TEST(LostTask, IsNotFollowedByWhatWaitedForIt) {
  EndpointConfig config;
  config.job_key = {7, 8};
  config.epoch = 10;
  Job job(2, config);
  for (PeerIndex i = 0; i < 2; ++i) job.task(i).transport.make_lossy(0, 1);
  job.start();
  const std::uint64_t word = 7;
  std::uint64_t there = 0, of_former = 0;
  const auto put = [&](PeerIndex from, std::uint64_t& to) {
    ASSERT_EQ(job[from].put({1 - from, address(&to), &word, 8, 0, 0, 0}), Submit::accepted);
  };
  put(0, there);
  job.settle();
  for (unsigned n = 0; n <= tuning::kPacketsBeforePacking; ++n) put(0, of_former);
  Task& task = job.task(1);
  task.transport.forget_waiting();
  config.self = 1;
  config.tasks = 2;
  config.epoch = 20;
  Transport* transport = &task.transport;
  task.endpoint = std::make_unique<Endpoint>(config, std::span(&transport, 1), job.clock, task, task.host);
  there = 0;
  put(1, there);
  for (const PeerIndex i : {0, 1}) job[i].progress();  // they have told each other who they are, but for one packet
  put(0, of_former);
  job.settle();
  EXPECT_EQ(there, 7u);
  EXPECT_EQ(of_former, 0u) << "the next incarnation has the memory of the former one written";
  put(0, of_former);
  job.settle();
  EXPECT_EQ(of_former, 7u);
}

// It has made this task keep too much, and its user has had enough of it in the same step: there is nothing to tell.
TEST(LostTask, IsNotDroppedWhenItWasPurgedMeanwhile) {
  Job job(3);
  job.start();
  job.task(0).host.on_header = [&](const ArrivedMessage& message) {
    HeaderVerdict verdict{message.source == kVictim ? Delivery::drop : Delivery::bury, CompletionStyle::inline_local};
    if (message.source == kOther) verdict.completion_handler = &job;
    return verdict;
  };
  job.task(0).host.on_completion = [&](const CompletionRun&, bool) {
    job[0].purge(kVictim);
    return true;
  };
  RecordBytes record(wire::RecordKind::active_message, wire::ActiveMessageBody{1, 0, 0});
  record.extend({tuning::kMostBytesOfPeer + 1, 0, 7, 0}, wire::kFlagLong);
  const ConstBuffer piece = record.piece();
  const OutgoingPacket packet{{&piece, 1}, record.length()};
  ASSERT_EQ(job.task(kVictim).transport.send_burst(0, {&packet, 1}), 1u);
  ASSERT_EQ(job[kOther].active_message({0, 1, nullptr, 0, nullptr, 0, 0, 0, 0}), Submit::accepted);
  job[0].progress();
  EXPECT_TRUE(job[0].peers().purged(kVictim));
  EXPECT_TRUE(job.task(0).host.faults.empty());
}

// Handlers of what was given up wait until the handler that purges has returned.
TEST_P(Purge, ByAnInlineHandlerLetsOthersWait) {
  int send_handler = 0, freed = 0;
  bool inside = false;
  job_.task(0).host.on_send_completion = [&](const SendCompletion&) {
    EXPECT_FALSE(inside);
    ++freed;
  };
  job_.task(0).host.on_header = [&](const ArrivedMessage&) {
    return HeaderVerdict{Delivery::bury, CompletionStyle::inline_local, nullptr, &send_handler, nullptr};
  };
  job_.task(0).host.on_completion = [&](const CompletionRun&, bool) {
    inside = true;
    mine().purge(kVictim);
    inside = false;
    return true;
  };
  job_.task(kVictim).transport.set_room(0);
  PutRequest lost{kVictim, address(source_.data()), source_.data(), source_.size(), 0, 0, 0};
  lost.send_handler.function = &send_handler;
  ASSERT_EQ(mine().put(lost), Submit::accepted);
  ASSERT_EQ(job_[kOther].active_message({0, 1, nullptr, 0, source_.data(), 8, 0, 0, 0}), Submit::accepted);
  run_for(100 * kMillisecond);
  EXPECT_TRUE(mine().peers().purged(kVictim));
  EXPECT_EQ(freed, 1);
}

INSTANTIATE_TEST_SUITE_P(Transports, Purge, testing::Bool(),
                         [](const auto& info) { return info.param ? "reliable" : "channel"; });

}  // namespace
}  // namespace openlapi
