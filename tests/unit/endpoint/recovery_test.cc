// What is left of operations with a peer that was lost or purged, and how two tasks begin anew with each other.
#include <gtest/gtest.h>

#include "dataplane/counter/counters.h"
#include "dataplane/peers/peer_table.h"
#include "dataplane/sync/collectives.h"
#include "dataplane/sync/fences.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

constexpr PeerIndex kVictim = 1;
constexpr PeerIndex kOther = 2;

// Three tasks; the parameter says whether over a reliable transport.
class Recovery : public testing::TestWithParam<bool> {
 protected:
  Recovery() {
    config_.job_key = {0x1234, 0};
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

  CounterLoss loss(const int& counter) { return mine().counters().loss_of(address(&counter)); }

  // The others do not hear of it; the victim takes nothing any more.
  void kill_victim() {
    for (PeerIndex i = 0; i < 3; ++i) job_->task(i).transport.set_gone(kVictim);
    job_->task(kVictim).endpoint.reset();
    job_->task(kVictim).transport.set_room(GetParam() ? 0 : 1'000'000);
  }

  void bring_victim_back(std::uint64_t epoch) {
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
  mine().counters().forget_loss(address(&completion_counter_));
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
  const FenceTicket ticket = mine().fences().begin();
  run_for(12 * kSecond);
  EXPECT_EQ(mine().fences().state(ticket), FenceState::peer_lost);
}

TEST_P(Recovery, PurgingGivesUpWhatIsUnderWayAndRefusesMore) {
  kill_victim();
  ASSERT_EQ(put(kVictim, source_.size()), Submit::accepted);
  ASSERT_EQ(add(kVictim), Submit::accepted);
  const FenceTicket fence = mine().fences().begin();
  mine().collectives().begin_barrier();
  mine().purge(kVictim);
  EXPECT_TRUE(mine().peers().purged(kVictim));
  EXPECT_EQ(loss(completion_counter_), CounterLoss::peer_purged);
  EXPECT_EQ(loss(origin_counter_), CounterLoss::peer_purged);
  EXPECT_EQ(loss(request_counter_), CounterLoss::peer_purged);
  EXPECT_EQ(mine().fences().state(fence), FenceState::peer_purged);
  EXPECT_EQ(mine().collectives().state(), CollectiveState::peer_purged);
  mine().collectives().begin_exchange(1);
  EXPECT_EQ(mine().collectives().state(), CollectiveState::peer_purged);
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

// The caller was told that it begins: whoever waits for its counters hears why they will not move.
TEST_P(Recovery, AnOperationThatWasToBeginLaterIsGivenUp) {
  mine().purge(kVictim);
  int told = 0;
  const UnbegunOperation operation{
      kVictim, address(&origin_counter_), address(&completion_counter_), {reinterpret_cast<void*>(1), &told}};
  mine().enter_handler();
  EXPECT_EQ(put(kVictim), Submit::purged);
  mine().give_up_unbegun(operation, Submit::purged);
  mine().leave_handler();
  EXPECT_EQ(loss(origin_counter_), CounterLoss::peer_purged);
  EXPECT_EQ(loss(completion_counter_), CounterLoss::peer_purged);
  EXPECT_TRUE(mine().has_work()) << "the send completion handler runs in the next step";
  EXPECT_TRUE(job_->task(0).host.faults.empty()) << "the user knows";
  mine().give_up_unbegun({kOther, address(&request_counter_), 0, {}}, Submit::unreachable);
  EXPECT_EQ(loss(request_counter_), CounterLoss::peer_lost);
  ASSERT_EQ(job_->task(0).host.faults.size(), 1u);
  EXPECT_EQ(job_->task(0).host.faults[0], std::pair(Fault::no_connectivity, kOther));
  mine().give_up_unbegun({kOther, address(&origin_counter_), address(&completion_counter_), {}}, Submit::origin_memory);
  EXPECT_EQ(origin_counter_ + completion_counter_, 2) << "as if it had been found out on the way";
}

TEST_P(Recovery, OthersInACollectiveHearOfAPurge) {
  (*job_)[kOther].collectives().begin_barrier();
  run_for(100 * kMillisecond);
  mine().purge(kVictim);
  mine().collectives().begin_barrier();
  run_for(100 * kMillisecond);
  EXPECT_EQ((*job_)[kOther].collectives().state(), CollectiveState::peer_lost);
  EXPECT_TRUE(job_->task(kOther).host.faults.empty()) << "nobody died";
}

TEST_P(Recovery, WhatComesFromAPurgedPeerIsDropped) {
  mine().purge(kVictim);
  int arrived = 0;
  ASSERT_EQ((*job_)[kVictim].put({0, address(sink_.data()), source_.data(), 8, address(&arrived), 0, 0}),
            Submit::accepted);
  run_for(100 * kMillisecond);
  EXPECT_EQ(arrived, 0);
  const bool refused = GetParam();  // over a reliable transport it has not left
  EXPECT_EQ(mine().statistics(StatisticsPath::network).ghost_packets == 0, refused);
}

TEST_P(Recovery, ANewIncarnationIsResumed) {
  if (GetParam()) return;  // shared memory does not know incarnations
  ASSERT_EQ(put(kVictim), Submit::accepted);
  run_for(100 * kMillisecond);
  kill_victim();
  ASSERT_EQ(put(kVictim), Submit::accepted);
  mine().purge(kVictim);
  bring_victim_back(20);
  mine().resume(kVictim, 30);
  EXPECT_FALSE(mine().peers().purged(kVictim));
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

// It lives, and does nothing: what it has been sent, or a question whether it is there, is not taken.
TEST_P(Recovery, APeerThatTakesNothingForTheTimeOutIsLost) {
  job_->task(kVictim).host.on_header = [&](const ArrivedMessage&) {
    return HeaderVerdict{Delivery::bury, CompletionStyle::thread, nullptr, &word_, nullptr};
  };
  job_->task(kVictim).host.on_completion = [](const CompletionRun&, bool) { return false; };
  ASSERT_EQ(mine().active_message({kVictim, 1, nullptr, 0, source_.data(), 8, 0, 0, address(&completion_counter_)}),
            Submit::accepted);
  run_for(30 * kSecond);
  EXPECT_TRUE(job_->task(0).host.faults.empty()) << "it is slow, but lives";
  const auto run_without_victim = [&](Nanoseconds time) {
    for (Nanoseconds passed = 0; passed < time; passed += 10 * kMillisecond) {
      mine().progress();
      job_->clock.advance(10 * kMillisecond);
    }
  };
  run_without_victim(9 * kSecond);
  EXPECT_TRUE(job_->task(0).host.faults.empty());
  run_for(kSecond);
  run_without_victim(9 * kSecond);
  EXPECT_TRUE(job_->task(0).host.faults.empty()) << "it was there in between";
  run_without_victim(3 * kSecond);
  ASSERT_EQ(job_->task(0).host.faults.size(), 1u);
  EXPECT_EQ(job_->task(0).host.faults[0], std::pair(Fault::timeout, kVictim));
  EXPECT_EQ(loss(completion_counter_), CounterLoss::peer_lost);
  run_without_victim(30 * kSecond);
  EXPECT_EQ(job_->task(0).host.faults.size(), 1u) << "nothing is owed any more";
}

TEST_P(Recovery, AFenceDoesNotWaitForMessagesToOneselfThatBeganAfterIt) {
  bool refuse = true;
  int delivered = 0;
  job_->task(0).host.on_header = [&](const ArrivedMessage&) {
    if (refuse) return HeaderVerdict{Delivery::drop};
    ++delivered;
    return HeaderVerdict{};
  };
  const FenceTicket before = mine().fences().begin();
  ASSERT_EQ(mine().active_message({0, 2, nullptr, 0, nullptr, 0, 0, 0, 0}), Submit::accepted);
  run_for(100 * kMillisecond);
  EXPECT_EQ(mine().fences().state(before), FenceState::done);
  const FenceTicket behind = mine().fences().begin();
  ASSERT_EQ(mine().active_message({0, 2, nullptr, 0, nullptr, 0, 0, 0, 0}), Submit::accepted);
  run_for(100 * kMillisecond);
  EXPECT_EQ(mine().fences().state(behind), FenceState::pending);
  refuse = false;
  run_for(100 * kMillisecond);
  EXPECT_EQ(delivered, 2);
  EXPECT_EQ(mine().fences().state(behind), FenceState::done);
}

// What the two had sent each other waits until both have purged and resumed. The parameter of a reliable transport.
TEST_P(Recovery, WhatWaitsInTheQueuesIsOfTheEraBefore) {
  if (!GetParam()) return;
  for (const bool readable : {false, true}) {
    if (readable) {
      for (PeerIndex i = 0; i < 3; ++i) job_->task(i).transport.make_readable();
      job_->start();  // engines ask a transport for its powers at first contact
    }
    int handled = 0;
    job_->task(kVictim).host.on_header = [&](const ArrivedMessage&) {
      ++handled;
      return HeaderVerdict{};
    };
    word_ = 0;
    target_counter_ = completion_counter_ = 0;
    std::vector<unsigned char> fetched(source_.size());
    const auto send_all = [&] {
      ASSERT_EQ(put(kVictim), Submit::accepted);
      ASSERT_EQ(put(kVictim, source_.size()), Submit::accepted);
      ASSERT_EQ(add(kVictim), Submit::accepted);
      ASSERT_EQ(mine().active_message({kVictim, 1, nullptr, 0, source_.data(), 8, 0, 0, 0}), Submit::accepted);
      ASSERT_EQ(mine().get({kVictim, address(source_.data()), fetched.data(), fetched.size(), 0, 0}), Submit::accepted);
    };
    send_all();
    for (const PeerIndex first : {PeerIndex{0}, kVictim}) {
      const PeerIndex second = kVictim - first;
      (*job_)[first].purge(second);
      (*job_)[second].purge(first);
      (*job_)[first].resume(second, 30);
      // One is there before the other: what it sends waits.
      if (first == 0) {
        ASSERT_EQ(put(kVictim), Submit::accepted);
      }
      (*job_)[second].resume(first, 31);
    }
    run_for(100 * kMillisecond);
    EXPECT_EQ(target_counter_, 0);
    EXPECT_EQ(word_, 0u);
    EXPECT_EQ(handled, 0);
    completion_counter_ = 0;
    send_all();
    const FenceTicket fence = mine().fences().begin();
    run_for(200 * kMillisecond);
    EXPECT_EQ(mine().fences().state(fence), FenceState::done);
    EXPECT_EQ(target_counter_, 2);
    EXPECT_EQ(completion_counter_, 2);
    EXPECT_EQ(word_, 1u);
    EXPECT_EQ(handled, 1);
    EXPECT_EQ(fetched, source_);
    EXPECT_TRUE(mine().drained());
    EXPECT_TRUE(job_->task(0).host.faults.empty());
    EXPECT_TRUE(job_->task(kVictim).host.faults.empty());
  }
}

TEST_P(Recovery, WhoSendsBeforeThePeerHasResumedIsHeard) {
  ASSERT_EQ(put(kVictim), Submit::accepted);
  run_for(100 * kMillisecond);
  mine().purge(kVictim);
  (*job_)[kVictim].purge(0);
  mine().resume(kVictim, 30);
  target_counter_ = completion_counter_ = 0;
  ASSERT_EQ(put(kVictim), Submit::accepted);
  ASSERT_EQ(put(kVictim, source_.size()), Submit::accepted);
  run_for(100 * kMillisecond);
  EXPECT_EQ(target_counter_, 0);
  (*job_)[kVictim].resume(0, 31);
  run_for(kSecond);
  EXPECT_EQ(target_counter_, 2);
  EXPECT_EQ(completion_counter_, 2);
  EXPECT_TRUE(job_->task(0).host.faults.empty());
}

// Not as the guide wants it: only one side purges. Nothing may hang, and the other side is told.
TEST_P(Recovery, APeerThatPurgesAndResumesAloneIsLostForTheOther) {
  ASSERT_EQ(put(kVictim), Submit::accepted);
  run_for(100 * kMillisecond);
  ASSERT_EQ(completion_counter_, 1);
  (*job_)[kVictim].purge(0);
  ASSERT_EQ(add(kVictim), Submit::accepted);
  run_for(100 * kMillisecond);
  (*job_)[kVictim].resume(0, 31);
  ASSERT_EQ((*job_)[kVictim].put({0, address(sink_.data()), source_.data(), 8, 0, 0, 0}), Submit::accepted);
  run_for(2 * kSecond);
  EXPECT_EQ(word_, 0u);
  EXPECT_EQ(loss(request_counter_), CounterLoss::peer_lost);
  ASSERT_EQ(job_->task(0).host.faults.size(), 1u);
  EXPECT_EQ(job_->task(0).host.faults[0].second, kVictim);
  target_counter_ = 0;
  ASSERT_EQ(put(kVictim), Submit::accepted);
  run_for(100 * kMillisecond);
  EXPECT_EQ(target_counter_, 1);
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
  mine().counters().watch(true);
  ASSERT_EQ(put(kVictim), Submit::accepted);
  ASSERT_EQ(mine().put({kVictim, address(sink_.data()), source_.data(), 8, 0, 0, 0}), Submit::accepted);
  ASSERT_EQ(add(kOther), Submit::accepted);
  run_for(100 * kMillisecond);
  using Move = std::pair<std::uint64_t, PeerIndex>;
  for (const Move& move : {Move{address(&origin_counter_), kVictim}, Move{address(&completion_counter_), kVictim},
                           Move{address(&request_counter_), kOther}}) {
    EXPECT_EQ(std::count(watcher.moves.begin(), watcher.moves.end(), move), 1);
  }
  EXPECT_EQ(watcher.moves.size(), 3u) << "a put without counters moves none";
}

INSTANTIATE_TEST_SUITE_P(Transports, Recovery, testing::Bool());

}  // namespace
}  // namespace openlapi
