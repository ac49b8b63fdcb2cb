// What is left of operations with a peer that was lost or purged, and how two tasks begin anew with each other.
#include <gtest/gtest.h>

#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

std::uint64_t address(const void* place) { return reinterpret_cast<std::uintptr_t>(place); }

constexpr PeerIndex kVictim = 1;
constexpr PeerIndex kOther = 2;

// Three tasks; the parameter says whether over a reliable transport.
class Recovery : public testing::TestWithParam<bool> {
 protected:
  Recovery() {
    config_.cookie = 0x1234;
    config_.epoch = 10;
    config_.timeout = 10 * kSecond;
    config_.idle_loops_between_timers = 1;
    job_ = std::make_unique<Job>(3, config_);
    for (PeerIndex i = 0; i < 3; ++i) {
      job_->task(i).transport.set_room(1000);
      if (!GetParam()) job_->task(i).transport.make_lossy(0, 1);
    }
    job_->start();
  }

  Endpoint& mine() { return (*job_)[0]; }

  Submit put(PeerIndex target, std::size_t length = 8) {
    return mine().put({target, address(sink_.data()), source_.data(), length, address(&target_counter_),
                       address(&origin_counter_), address(&completion_counter_)});
  }

  Submit add(PeerIndex target) {
    return mine().read_modify_write(
        {target, wire::RmwOperation::fetch_and_add, 8, address(&word_), 1, 0, nullptr, address(&request_counter_)});
  }

  CounterLoss loss(const int& counter) { return mine().counter_loss(address(&counter)); }

  // The others do not hear of it; the victim takes nothing any more.
  void kill_victim() {
    for (PeerIndex i = 0; i < 3; ++i) job_->task(i).transport.set_gone(kVictim);
    job_->task(kVictim).endpoint.reset();
    job_->task(kVictim).transport.set_room(GetParam() ? 0 : 1'000'000);
  }

  void bring_victim_back(std::uint32_t epoch) {
    for (PeerIndex i = 0; i < 3; ++i) job_->task(i).transport.set_gone(kUnknownPeer);
    Task& task = job_->task(kVictim);
    task.transport.forget_waiting();
    task.transport.set_room(1000);
    EndpointConfig config = config_;
    config.tasks = 3;
    config.self = kVictim;
    config.epoch = epoch;
    Transport* transport = &task.transport;
    task.endpoint = std::make_unique<Endpoint>(config, std::span(&transport, 1), job_->clock, task, task.host);
  }

  void run_for(Nanoseconds time) {
    for (Nanoseconds passed = 0; passed < time; passed += 10 * kMillisecond) {
      for (PeerIndex i = 0; i < 3; ++i) {
        if (job_->task(i).endpoint != nullptr) (*job_)[i].progress();
      }
      job_->clock.advance(10 * kMillisecond);
    }
  }

  EndpointConfig config_;
  std::unique_ptr<Job> job_;
  std::vector<unsigned char> source_ = std::vector<unsigned char>(100'000, 7);
  std::vector<unsigned char> sink_ = std::vector<unsigned char>(100'000);
  std::uint64_t word_ = 0;
  int target_counter_ = 0, origin_counter_ = 0, completion_counter_ = 0, request_counter_ = 0;
};

TEST_P(Recovery, CountersOfOperationsToALostPeerAreNamed) {
  ASSERT_EQ(put(kVictim), Submit::accepted);
  run_for(100 * kMillisecond);
  EXPECT_EQ(completion_counter_, 1);
  kill_victim();
  ASSERT_EQ(put(kVictim), Submit::accepted);
  ASSERT_EQ(add(kVictim), Submit::accepted);
  EXPECT_EQ(loss(completion_counter_), CounterLoss::none);
  run_for(12 * kSecond);
  ASSERT_FALSE(job_->task(0).host.faults.empty());
  EXPECT_EQ(loss(completion_counter_), CounterLoss::peer_lost);
  EXPECT_EQ(loss(request_counter_), CounterLoss::peer_lost);
  EXPECT_EQ(loss(origin_counter_), CounterLoss::none) << "it has moved";
  mine().forget_counter_loss(address(&completion_counter_));
  EXPECT_EQ(loss(completion_counter_), CounterLoss::none);
}

TEST_P(Recovery, APeerThatOwesACompletionIsWatched) {
  job_->task(kVictim).host.on_header = [&](const ArrivedMessage&) {
    HeaderVerdict verdict{Delivery::bury, CompletionStyle::thread, nullptr, &word_, nullptr};
    return verdict;
  };
  job_->task(kVictim).host.on_completion = [](const CompletionRun&, bool) { return false; };
  ASSERT_EQ(mine().active_message({kVictim, 1, nullptr, 0, source_.data(), 8, 0, 0, address(&completion_counter_)}),
            Submit::accepted);
  run_for(100 * kMillisecond);
  EXPECT_TRUE(mine().drained()) << "all is acknowledged, and the handler does not return";
  kill_victim();
  run_for(13 * kSecond);
  EXPECT_FALSE(job_->task(0).host.faults.empty());
  EXPECT_EQ(loss(completion_counter_), CounterLoss::peer_lost);
}

TEST_P(Recovery, APeerFromWhomSomethingIsExpectedIsWatched) {
  kill_victim();
  run_for(13 * kSecond);
  EXPECT_TRUE(job_->task(0).host.faults.empty());
  mine().expect_from(kVictim);
  run_for(13 * kSecond);
  EXPECT_FALSE(job_->task(0).host.faults.empty());
  mine().expect_no_more_from(kVictim);
  run_for(13 * kSecond);
  job_->task(0).host.faults.clear();
  run_for(13 * kSecond);
  EXPECT_TRUE(job_->task(0).host.faults.empty());
}

TEST_P(Recovery, AFenceOverLostRequestsSaysSo) {
  kill_victim();
  ASSERT_EQ(add(kVictim), Submit::accepted);
  const FenceTicket ticket = mine().begin_fence();
  run_for(12 * kSecond);
  EXPECT_EQ(mine().fence_state(ticket), FenceState::peer_lost);
}

TEST_P(Recovery, PurgingGivesUpWhatIsUnderWayAndRefusesMore) {
  kill_victim();
  ASSERT_EQ(put(kVictim, source_.size()), Submit::accepted);
  ASSERT_EQ(add(kVictim), Submit::accepted);
  const FenceTicket fence = mine().begin_fence();
  mine().begin_barrier();
  mine().purge(kVictim);
  EXPECT_TRUE(mine().purged(kVictim));
  EXPECT_EQ(loss(completion_counter_), CounterLoss::peer_purged);
  EXPECT_EQ(loss(origin_counter_), CounterLoss::peer_purged);
  EXPECT_EQ(loss(request_counter_), CounterLoss::peer_purged);
  EXPECT_EQ(mine().fence_state(fence), FenceState::peer_purged);
  EXPECT_EQ(mine().collective_state(), CollectiveState::peer_purged);
  mine().begin_exchange(1);
  EXPECT_EQ(mine().collective_state(), CollectiveState::peer_purged);
  EXPECT_EQ(put(kVictim), Submit::purged);
  EXPECT_EQ(add(kVictim), Submit::purged);
  run_for(13 * kSecond);
  EXPECT_TRUE(job_->task(0).host.faults.empty()) << "the user knows";
  EXPECT_TRUE(mine().drained());
  completion_counter_ = 0;
  ASSERT_EQ(put(kOther), Submit::accepted);
  run_for(100 * kMillisecond);
  EXPECT_EQ(completion_counter_, 1) << "others are not disturbed";
}

TEST_P(Recovery, OthersInACollectiveHearOfAPurge) {
  (*job_)[kOther].begin_barrier();
  run_for(100 * kMillisecond);
  mine().purge(kVictim);
  mine().begin_barrier();
  run_for(100 * kMillisecond);
  EXPECT_EQ((*job_)[kOther].collective_state(), CollectiveState::peer_lost);
  EXPECT_TRUE(job_->task(kOther).host.faults.empty()) << "nobody died";
}

TEST_P(Recovery, WhatComesFromAPurgedPeerIsDropped) {
  mine().purge(kVictim);
  int arrived = 0;
  ASSERT_EQ((*job_)[kVictim].put({0, address(sink_.data()), source_.data(), 8, address(&arrived), 0, 0}),
            Submit::accepted);
  run_for(100 * kMillisecond);
  EXPECT_EQ(arrived, 0);
  EXPECT_GT(mine().statistics(StatisticsPath::network).ghost_packets, 0u);
}

TEST_P(Recovery, ANewLifeIsResumed) {
  if (GetParam()) return;  // shared memory does not know lives
  ASSERT_EQ(put(kVictim), Submit::accepted);
  run_for(100 * kMillisecond);
  kill_victim();
  ASSERT_EQ(put(kVictim), Submit::accepted);
  mine().purge(kVictim);
  bring_victim_back(20);
  mine().resume(kVictim, 30);
  EXPECT_FALSE(mine().purged(kVictim));
  target_counter_ = completion_counter_ = 0;
  ASSERT_EQ(put(kVictim), Submit::accepted);
  run_for(100 * kMillisecond);
  EXPECT_EQ(target_counter_, 1) << "and not what was sent before";
  EXPECT_EQ(completion_counter_, 1);
  int arrived = 0;
  ASSERT_EQ((*job_)[kVictim].put({0, address(sink_.data()), source_.data(), source_.size(), address(&arrived), 0, 0}),
            Submit::accepted);
  run_for(100 * kMillisecond);
  EXPECT_EQ(arrived, 1);
  EXPECT_TRUE(job_->task(0).host.faults.empty());
}

TEST_P(Recovery, TwoThatLiveBeginAnewAndNothingOlderArrives) {
  if (GetParam()) return;
  ASSERT_EQ(put(kVictim), Submit::accepted);
  run_for(100 * kMillisecond);
  ASSERT_EQ(target_counter_, 1);
  ASSERT_EQ(put(kVictim, 3000), Submit::accepted);
  mine().flush();
  const auto late = job_->task(kVictim).transport.take_waiting();
  ASSERT_FALSE(late.empty());
  mine().purge(kVictim);
  (*job_)[kVictim].purge(0);
  mine().resume(kVictim, 30);
  (*job_)[kVictim].resume(0, 31);
  job_->task(kVictim).transport.put_back(late);
  run_for(100 * kMillisecond);
  EXPECT_EQ(target_counter_, 1) << "it was sent before the two began anew";
  ASSERT_EQ(put(kVictim), Submit::accepted);
  job_->task(kVictim).transport.put_back(late);
  run_for(100 * kMillisecond);
  EXPECT_EQ(target_counter_, 2);
  EXPECT_TRUE(job_->task(0).host.faults.empty());
  EXPECT_TRUE(job_->task(kVictim).host.faults.empty());
}

TEST_P(Recovery, WatchedCountersTellWhoMovesThem) {
  class Watcher final : public HandlerHost {
   public:
    HeaderVerdict run_header_handler(const ArrivedMessage&) override { return {}; }
    bool run_completion_handler(const CompletionRun&, bool) override { return true; }
    void run_send_handler(const SendCompletion&) override {}
    void report_fault(Fault, PeerIndex) override {}
    void counter_moves(std::uint64_t counter, PeerIndex peer) override { moves.emplace_back(counter, peer); }
    std::vector<std::pair<std::uint64_t, PeerIndex>> moves;
  } watcher;
  EndpointConfig config = config_;
  config.tasks = 3;
  config.self = 0;
  config.epoch = 11;
  Task& task = job_->task(0);
  Transport* transport = &task.transport;
  task.endpoint = std::make_unique<Endpoint>(config, std::span(&transport, 1), job_->clock, task, watcher);
  ASSERT_EQ(put(kVictim), Submit::accepted);
  run_for(100 * kMillisecond);
  EXPECT_TRUE(watcher.moves.empty());
  mine().watch_counters(true);
  ASSERT_EQ(put(kVictim), Submit::accepted);
  ASSERT_EQ(add(kOther), Submit::accepted);
  run_for(100 * kMillisecond);
  using Move = std::pair<std::uint64_t, PeerIndex>;
  for (const Move& move : {Move{address(&origin_counter_), kVictim}, Move{address(&completion_counter_), kVictim},
                           Move{address(&request_counter_), kOther}}) {
    EXPECT_EQ(std::count(watcher.moves.begin(), watcher.moves.end(), move), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Transports, Recovery, testing::Bool());

}  // namespace
}  // namespace openlapi
