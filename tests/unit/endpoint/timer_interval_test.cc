// MP_RETRANSMIT_INTERVAL: how many idle steps go by before an endpoint looks at its timers again.
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "dataplane/tuning.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

// Steps of a task that waits for a dead one until its timers tell it.
unsigned steps_until_the_loss_is_seen(std::uint32_t interval) {
  EndpointConfig config;
  config.idle_loops_between_timers = interval;
  Job job(2, config);
  for (PeerIndex i = 0; i < 2; ++i) job.task(i).transport.set_room(100);
  job.start();
  std::uint64_t word = 0;
  EXPECT_EQ(job[0].read_modify_write({1, wire::RmwOperation::fetch_and_add, 8, address(&word), 1, 0, nullptr, 0}),
            Submit::accepted);
  job.task(0).transport.set_gone(1);
  job.clock.advance(kSecond);
  unsigned steps = 0;
  while (job.task(0).host.faults.empty() && steps < 100'000) {
    job[0].progress();
    ++steps;
  }
  EXPECT_EQ(job.task(0).host.faults.size(), 1u);
  return steps;
}

TEST(TimerInterval, TimersAreLookedAtAfterSoManyIdleSteps) {
  // One more step: the first look finds that the task is gone, the next one that nothing of it waits.
  for (const std::uint32_t interval : {1u, 1000u, 5000u}) {
    EXPECT_EQ(steps_until_the_loss_is_seen(interval), interval + 1) << interval;
  }
}

TEST(TimerInterval, ALongIntervalIsAnUpperBound) {
  for (const std::uint32_t interval : {10'000u, 1'000'000u, 2'147'483'647u}) {
    EXPECT_EQ(steps_until_the_loss_is_seen(interval), tuning::kIdleLoopsBetweenTimers + 1) << interval;
  }
}

// Two tasks with a network between them; the first has put a word into the second's memory, and nothing of it has
// arrived.
class StepsAtOnce : public testing::Test {
 protected:
  StepsAtOnce() {
    for (PeerIndex i = 0; i < 2; ++i) job_.task(i).transport.make_lossy(0, 1);
    job_.start();
    put();  // first contact
    job_.settle();
    job_.clock.advance(kSecond);
    job_.settle();
    put();
    lost_ = job_.task(1).transport.take_waiting();
    EXPECT_EQ(lost_.size(), 1u);
  }
  void put() {
    ASSERT_EQ(job_[0].put({1, address(&target_), &source_, 8, address(&counter_), 0, 0}), Submit::accepted);
  }

  Job job_{2};
  std::uint64_t source_ = 1, target_ = 0;
  int counter_ = 0;
  MemoryTransport::Copies lost_;
};

TEST_F(StepsAtOnce, SeldomLookAtTheClock) {
  const unsigned before = job_.clock.looks();
  for (unsigned step = 0; step < 10 * tuning::kStepsBetweenTimers; ++step) job_[0].progress(Step::again);
  EXPECT_EQ(job_.clock.looks() - before, 10u);
  job_[0].progress(Step::first);
  EXPECT_EQ(job_.clock.looks() - before, 11u);
}

TEST_F(StepsAtOnce, SendAgainWhatIsLost) {
  job_.clock.advance(kSecond);
  for (unsigned step = 0; step < tuning::kStepsBetweenTimers; ++step) job_[0].progress(Step::again);
  EXPECT_EQ(job_.task(1).transport.waiting(), 1u);
  job_[1].progress(Step::first);
  EXPECT_EQ(counter_, 2);
}

TEST_F(StepsAtOnce, AcknowledgeAtOnceWhatMayNotWait) {
  job_[1].set_ack_threshold(1);
  job_.task(1).transport.put_back(lost_);
  EXPECT_EQ(job_[1].progress(Step::again), 2u) << "a packet and its acknowledgement";
  EXPECT_EQ(counter_, 2);
  EXPECT_EQ(job_.task(0).transport.waiting(), 1u);
  job_[0].progress(Step::again);
  EXPECT_TRUE(job_[0].drained());
}

// What found no room leaves with the next step, whichever it is, and once.
TEST_F(StepsAtOnce, SendWhatTheTransportHadNoRoomFor) {
  job_.task(1).transport.put_back(lost_);
  job_.task(1).transport.set_room(1);
  put();
  EXPECT_EQ(job_.task(1).transport.waiting(), 1u);
  job_[1].progress(Step::again);
  EXPECT_EQ(counter_, 2);
  job_[0].progress(Step::again);
  EXPECT_EQ(job_.task(1).transport.waiting(), 1u);
  job_[0].progress(Step::again);
  EXPECT_EQ(job_.task(1).transport.waiting(), 1u);
  job_[1].progress(Step::again);
  EXPECT_EQ(counter_, 3);
  job_.settle();
  job_.clock.advance(kSecond);
  job_.settle();
  EXPECT_EQ(counter_, 3);
}

}  // namespace
}  // namespace openlapi
