// Tasks that share memory with one that takes nothing for a while, has its turn and does not use it, or has ended: how
// long it is waited for, how often its transport is asked, and what it costs once it is lost.
#include <gtest/gtest.h>

#include "dataplane/counter/counters.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

constexpr Nanoseconds kTimeout = 10 * kSecond;
constexpr Nanoseconds kStep = 100 * kMillisecond;

class SilentSharer : public testing::Test {
 protected:
  SilentSharer() : job_(3, config()) {
    job_.start();
    job_.clock.advance(10 * kTimeout);  // when a task began has nothing to do with any of this
  }
  static EndpointConfig config() {
    EndpointConfig config = small_copies();
    config.timeout = kTimeout;
    config.idle_loops_between_timers = 1;
    return config;
  }

  MemoryTransport& transport() { return job_.task(0).transport; }
  const std::vector<std::pair<Fault, PeerIndex>>& faults() { return job_.task(0).host.faults; }
  void put_to(PeerIndex peer) {
    ASSERT_EQ(job_[0].put({peer, address(&sink_), &value_, sizeof(value_), 0, 0, 0}), Submit::accepted);
  }
  // Task 0 alone takes steps.
  void pass(Nanoseconds time, Nanoseconds step = kStep) {
    for (Nanoseconds passed = 0; passed < time; passed += step) {
      job_.clock.advance(step);
      job_[0].progress();
    }
  }

  Job job_;
  int value_ = 7, sink_ = 0;
};

// Who is held up gives the third task up first, and goes on then; but it is not waited for without end.
TEST_F(SilentSharer, IsWaitedForTwiceAsLongWhileAThirdTaskHoldsItUp) {
  job_.task(1).transport.set_room(0);
  transport().hold_up(1);
  put_to(1);
  pass(2 * kTimeout - kSecond);
  EXPECT_TRUE(faults().empty());
  pass(2 * kSecond);
  EXPECT_EQ(faults(), std::vector(1, std::pair(Fault::timeout, PeerIndex{1})));
}

TEST_F(SilentSharer, IsLostAfterTheTimeOutOnceNobodyHoldsItUp) {
  job_.task(1).transport.set_room(0);
  transport().hold_up(1);
  put_to(1);
  pass(kTimeout + kSecond);
  EXPECT_TRUE(faults().empty());
  transport().hold_up(kUnknownPeer);
  pass(kStep);
  EXPECT_EQ(faults(), std::vector(1, std::pair(Fault::timeout, PeerIndex{1})));
}

// All of a node were stopped, and this one goes on first.
TEST_F(SilentSharer, IsGivenTimeByOneThatWasAway) {
  job_.task(1).transport.set_room(0);
  put_to(1);
  transport().hold_turn(2);
  pass(kSecond);
  job_.clock.advance(10 * kTimeout);
  pass(tuning::kAbsence - kStep);
  EXPECT_TRUE(faults().empty());
  job_.task(1).transport.set_room(1000);
  transport().hold_turn(kUnknownPeer);
  pass(kSecond);
  job_[1].progress();
  EXPECT_TRUE(faults().empty());
  EXPECT_EQ(sink_, value_);
}

// Once: what is still silent then is lost, also for one that comes back from the next absence.
TEST_F(SilentSharer, IsLostToOneThatIsAwayAgainAndAgain) {
  job_.task(1).transport.set_room(0);
  put_to(1);
  pass(kSecond);
  pass(2 * kTimeout, 2 * tuning::kAbsence);
  EXPECT_EQ(faults(), std::vector(1, std::pair(Fault::timeout, PeerIndex{1})));
}

// It has handed over an answer behind the turn of another, and ended in order.
TEST_F(SilentSharer, ThatHasEndedIsWaitedForBehindAnothersTurn) {
  int source = 9, counter = 0;
  ASSERT_EQ(job_[0].get({2, address(&source), &sink_, sizeof(sink_), 0, address(&counter)}), Submit::accepted);
  job_[2].progress();
  transport().hold_turn(1);
  transport().set_gone(2, true);
  pass(2 * kSecond);
  EXPECT_TRUE(faults().empty());
  transport().hold_turn(kUnknownPeer);
  pass(kSecond);
  EXPECT_EQ(counter, 1);
  EXPECT_EQ(sink_, 9);
  EXPECT_TRUE(faults().empty());
}

// Nothing is known of the one whose turn it is, so that it cannot be given up.
TEST_F(SilentSharer, ThatHasEndedIsNotWaitedForWithoutEnd) {
  job_.task(0).out_of_reach = 1;
  int source = 9, counter = 0;
  ASSERT_EQ(job_[0].get({2, address(&source), &sink_, sizeof(sink_), 0, address(&counter)}), Submit::accepted);
  job_[2].progress();
  transport().hold_turn(1);
  transport().set_gone(2, true);
  pass(2 * kTimeout - kSecond);
  EXPECT_TRUE(faults().empty());
  pass(2 * kSecond);
  EXPECT_EQ(faults(), std::vector(1, std::pair(Fault::no_connectivity, PeerIndex{2})));
  EXPECT_EQ(job_[0].counters().loss_of(address(&counter)), CounterLoss::peer_lost);
}

// Of a transport that does not count arrivals nobody knows whether all of them are here: not as long as they are held.
TEST_F(SilentSharer, ThatHasEndedIsHeardOverATransportThatDoesNotCount) {
  transport().count_no_arrivals();
  int source = 9, counter = 0;
  ASSERT_EQ(job_[0].get({2, address(&source), &sink_, sizeof(sink_), 0, address(&counter)}), Submit::accepted);
  job_[2].progress();
  transport().set_gone(2);
  job_[0].hold_arrivals(true);
  pass(kSecond);
  EXPECT_TRUE(faults().empty());
  job_[0].hold_arrivals(false);
  pass(kSecond);
  EXPECT_EQ(counter, 1);
  EXPECT_TRUE(faults().empty());
}

// Transports are promised that (ReliableDelivery::awaited_turn), also while the peers are looked at in every step.
TEST_F(SilentSharer, IsAskedAboutATenthOfASecondApart) {
  int source = 9, counter = 0;
  ASSERT_EQ(job_[0].get({2, address(&source), &sink_, sizeof(sink_), 0, address(&counter)}), Submit::accepted);
  job_[2].progress();
  transport().hold_turn(1);
  transport().set_gone(2, true);
  const std::size_t before = transport().turn_looks();
  pass(kSecond, kMillisecond);
  EXPECT_LE(transport().turn_looks() - before, kSecond / tuning::kWatchPeers + 1);
  EXPECT_GE(transport().turn_looks() - before, kSecond / tuning::kWatchPeers - 1);
}

// It was given up, goes on in time, and still has that turn.
TEST_F(SilentSharer, ThatBeginsAnewHasTheWholeTimeAgain) {
  transport().hold_turn(1);
  for (int step = 0; step < 200 && faults().empty(); ++step) pass(kStep);
  EXPECT_EQ(faults(), std::vector(1, std::pair(Fault::timeout, PeerIndex{1})));
  transport().hold_turn(1);
  pass(kTimeout - kSecond);
  EXPECT_EQ(faults().size(), 1u);
  pass(2 * kSecond);
  EXPECT_EQ(faults().size(), 2u);
}

// What it was to be told first, had it made room, is nobody's any more.
TEST_F(SilentSharer, ThatEndsAfterItWasGivenUpCostsNothing) {
  job_.task(1).transport.set_room(0);
  put_to(1);
  pass(kTimeout + kSecond);
  EXPECT_EQ(faults(), std::vector(1, std::pair(Fault::timeout, PeerIndex{1})));
  EXPECT_NE(job_[0].deadline(), UINT64_MAX) << "it may make room";
  transport().set_gone(1);
  pass(kSecond);
  EXPECT_EQ(job_[0].deadline(), UINT64_MAX);
  const std::size_t calls = transport().send_calls();
  pass(kSecond);
  EXPECT_EQ(transport().send_calls(), calls);
  EXPECT_EQ(faults().size(), 1u);
}

}  // namespace
}  // namespace openlapi
