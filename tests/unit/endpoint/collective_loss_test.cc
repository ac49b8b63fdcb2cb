// A task dies before it comes to a collective: nobody of the others waits for ever, also those that never sent the dead
// one anything, and those that do not wait for it themselves.
#include <gtest/gtest.h>

#include "dataplane/sync/collectives.h"
#include "dataplane/tuning.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

class CollectiveLoss : public testing::TestWithParam<std::tuple<std::uint32_t, bool>> {
 protected:
  CollectiveLoss() : tasks_(std::get<0>(GetParam())), reliable_(std::get<1>(GetParam())) {
    EndpointConfig config;
    config.job_key = {0x1234, 0};
    config.timeout = 10 * kSecond;
    config.idle_loops_between_timers = 1;
    job_ = std::make_unique<Job>(tasks_, config);
    for (PeerIndex i = 0; i < tasks_; ++i) {
      if (!reliable_) job_->task(i).transport.make_lossy(0, 1);
    }
    job_->start();
  }

  void kill(PeerIndex victim) {
    for (PeerIndex i = 0; i < tasks_; ++i) job_->task(i).transport.set_gone(victim);
    job_->task(victim).endpoint.reset();
    job_->task(victim).transport.set_room(reliable_ ? 0 : 1'000'000);
  }

  const std::uint32_t tasks_;
  const bool reliable_;
  std::unique_ptr<Job> job_;
};

TEST_P(CollectiveLoss, IsNoticedByAll) {
  const PeerIndex victim = tasks_ / 2;
  kill(victim);
  for (PeerIndex i = 0; i < tasks_; ++i) {
    if (i != victim) (*job_)[i].collectives().begin_barrier();
  }
  // Virtual seconds: a little more than the time-out.
  for (int step = 0; step < 1300; ++step) {
    for (PeerIndex i = 0; i < tasks_; ++i) {
      if (i != victim) (*job_)[i].progress();
    }
    job_->clock.advance(10 * kMillisecond);
  }
  for (PeerIndex i = 0; i < tasks_; ++i) {
    if (i == victim) continue;
    EXPECT_EQ((*job_)[i].collectives().state(), CollectiveState::peer_lost) << "task " << i;
    ASSERT_FALSE(job_->task(i).host.faults.empty()) << "task " << i;
    for (const auto& [fault, peer] : job_->task(i).host.faults) EXPECT_EQ(peer, victim) << "task " << i;
  }
}

// Over a network that loses packets only: over another one, a task that takes nothing is told when it takes again.
class CollectiveLossOfPackets : public CollectiveLoss {};

// Others have given it up, while it was stopped, before it had said anything; it comes to the collective later.
TEST_P(CollectiveLossOfPackets, IsNoticedByWhoWasGivenUpAndComesLater) {
  const PeerIndex late = tasks_ / 2;
  const auto run = [&](PeerIndex stopped) {
    for (int step = 0; step < 1300; ++step) {
      for (PeerIndex i = 0; i < tasks_; ++i) {
        if (i != stopped) (*job_)[i].progress();
      }
      job_->clock.advance(10 * kMillisecond);
    }
  };
  for (PeerIndex i = 0; i < tasks_; ++i) {
    if (i != late) (*job_)[i].collectives().begin_barrier();
  }
  run(late);
  for (PeerIndex i = 0; i < tasks_; ++i) {
    if (i == late) continue;
    EXPECT_EQ((*job_)[i].collectives().state(), CollectiveState::peer_lost) << "task " << i;
  }
  (*job_)[late].collectives().begin_barrier();
  run(tasks_);
  EXPECT_EQ((*job_)[late].collectives().state(), CollectiveState::peer_lost);
}

// A task lives and is given up by another one, or purged and resumed, while a third one is in an exchange with it.
class GivenUpInExchange : public testing::TestWithParam<bool> {
 protected:
  static constexpr PeerIndex kSurvivor = 0, kThird = 1, kStopped = 2;

  GivenUpInExchange() : job_(3, config()) {
    for (PeerIndex i = 0; i < 3 && !GetParam(); ++i) job_.task(i).transport.make_lossy(0, 1);
    job_.start();
    put_to_stopped();  // so that they know each other
    run(kSecond);
    begin(kStopped);
  }

  static EndpointConfig config() {
    EndpointConfig config;
    config.job_key = {0x1234, 0};
    config.timeout = 10 * kSecond;
    config.idle_loops_between_timers = 1;
    return config;
  }

  void put_to_stopped() {
    ASSERT_EQ(job_[kSurvivor].put({kStopped, address(&there_), &value_, sizeof value_, 0, 0, address(&completion_)}),
              Submit::accepted);
  }
  void begin(PeerIndex task) {
    job_[task].collectives().begin_exchange(task);
    run(kSecond);
  }
  void run(Nanoseconds time, PeerIndex stopped = kUnknownPeer) {
    for (Nanoseconds passed = 0; passed < time; passed += 10 * kMillisecond) {
      for (PeerIndex i = 0; i < 3; ++i) {
        if (i != stopped) job_[i].progress();
      }
      job_.clock.advance(10 * kMillisecond);
    }
  }
  void expect_lost_by_all() {
    for (PeerIndex i = 0; i < 3; ++i) {
      EXPECT_EQ(job_[i].collectives().state(), CollectiveState::peer_lost) << "task " << i;
    }
  }
  auto& faults_of(PeerIndex task) { return job_.task(task).host.faults; }

  Job job_;
  std::uint64_t value_ = 7, there_ = 0;
  int completion_ = 0;
};

// The one who has given it up is lost to nobody, and learns that the exchange is broken although it begins it later.
TEST_P(GivenUpInExchange, ItIsTheOneWhoIsLostToTheThird) {
  put_to_stopped();
  run(8 * kSecond, kStopped);
  job_[kThird].collectives().begin_exchange(kThird);
  run(4 * kSecond, kStopped);
  ASSERT_EQ(faults_of(kSurvivor), std::vector(1, std::pair(Fault::timeout, kStopped)));
  ASSERT_TRUE(faults_of(kThird).empty()) << "it has not waited for so long";
  run(4 * kSecond);
  EXPECT_EQ(faults_of(kStopped), std::vector(1, std::pair(Fault::no_connectivity, kSurvivor)));
  EXPECT_EQ(faults_of(kThird), std::vector(1, std::pair(Fault::no_connectivity, kStopped)));
  begin(kSurvivor);
  expect_lost_by_all();
  for (const auto& [fault, peer] : faults_of(kSurvivor)) EXPECT_EQ(peer, kStopped);
}

INSTANTIATE_TEST_SUITE_P(Transports, GivenUpInExchange, testing::Bool());

// Its user, and nobody else's, is told of the one who has purged it.
class PurgedInExchange : public GivenUpInExchange {};

TEST_P(PurgedInExchange, NobodyIsLostToTheThird) {
  begin(kThird);
  job_[kSurvivor].purge(kStopped);
  job_[kSurvivor].resume(kStopped, 100);
  run(4 * kSecond);
  EXPECT_EQ(faults_of(kStopped), std::vector(1, std::pair(Fault::no_connectivity, kSurvivor)));
  EXPECT_TRUE(faults_of(kThird).empty());
  begin(kSurvivor);
  expect_lost_by_all();
}

// Over a network it cannot be told from a new process.
INSTANTIATE_TEST_SUITE_P(Transports, PurgedInExchange, testing::Values(true));

// Of three tasks each sends to the next one and waits for the one before, in a barrier; in an exchange the other way.
class OutOfReach : public testing::TestWithParam<std::tuple<PeerIndex, bool>> {};

TEST_P(OutOfReach, IsToldWhoeverBegins) {
  const auto [nobody, exchange] = GetParam();
  EndpointConfig config;
  config.idle_loops_between_timers = 1;
  Job job(3, config);
  job.task(0).out_of_reach = nobody;
  job.start();
  exchange ? job[0].collectives().begin_exchange(1) : job[0].collectives().begin_barrier();
  for (int step = 0; step < 20; ++step) {
    job[0].progress();
    job.clock.advance(tuning::kWatchPeers);
  }
  EXPECT_EQ(job[0].collectives().state(), CollectiveState::peer_lost);
  EXPECT_EQ(job.task(0).host.faults, std::vector(1, std::pair(Fault::no_connectivity, nobody)));
}

INSTANTIATE_TEST_SUITE_P(Tasks, OutOfReach, testing::Combine(testing::Values(1, 2), testing::Bool()));

// In an exchange that all have filled, the rounds that follow reach the one who was the first to be sent to.
TEST(OutOfReachLater, IsToldWhoeverConfirms) {
  EndpointConfig config;
  config.idle_loops_between_timers = 1;
  Job job(2, config);
  job.start();
  for (PeerIndex i = 0; i < 2; ++i) job[i].collectives().begin_exchange(i);
  job.settle();
  ASSERT_EQ(job[0].collectives().state(), CollectiveState::filled);
  job[0].purge(1);
  EXPECT_EQ(job[0].collectives().state(), CollectiveState::peer_purged);
  EXPECT_TRUE(job.task(0).host.faults.empty()) << "its user knows";
}

INSTANTIATE_TEST_SUITE_P(Jobs, CollectiveLoss, testing::Combine(testing::Values(2, 3, 5, 8, 13), testing::Bool()));
INSTANTIATE_TEST_SUITE_P(Jobs, CollectiveLossOfPackets,
                         testing::Combine(testing::Values(2, 3, 5, 8, 13), testing::Values(false)));

// Its exchange is filled at once and waits for its confirmation, which may take as long as the caller likes.
TEST(CollectiveOfOne, IsLostToNobody) {
  EndpointConfig config;
  config.idle_loops_between_timers = 1;
  Job job(1, config);
  job.start();
  job[0].collectives().begin_exchange(7);
  for (int step = 0; step < 10; ++step) {
    job.clock.advance(kSecond);
    job[0].progress();
  }
  EXPECT_EQ(job[0].collectives().state(), CollectiveState::filled);
  EXPECT_TRUE(job.task(0).host.faults.empty());
}

}  // namespace
}  // namespace openlapi
