// What happens to requests while the program is in no call.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/unit/rpi/quiet_engine.h"

namespace openlapi::rpi {
namespace {

class BetweenCallsTest : public QuietEngine {
 protected:
  // As LAM does it, which calls no module.
  void cancel(_req& request) {
    request.rq_state = LAM_RQSDONE;
    request.rq_flags |= LAM_RQFCANCEL;
    --active_;
  }
};

TEST_F(BetweenCallsTest, WhatMeetsAReceiveBetweenCallsIsToldInTheNext) {
  engine_.match_outside(true);
  _req& request = receive(1, MPI_ANY_TAG, memory_, 2);
  engine_.outside(true);
  complete(arrive(message(0, 5), 3));
  engine_.outside(false);
  EXPECT_EQ(request.rq_state, LAM_RQSSTART);
  EXPECT_EQ(request.rq_flags, 0);
  EXPECT_EQ(active_, 1);
  EXPECT_FALSE(engine_.quiet());
  EXPECT_EQ(engine_.advance(&request, true), 1);
  EXPECT_EQ(request.rq_state, LAM_RQSDONE);
  EXPECT_NE(request.rq_flags & LAM_RQFTRUNC, 0);
  EXPECT_EQ(request.rq_status.MPI_TAG, 5);
  EXPECT_EQ(request.rq_status.st_length, 2);
  EXPECT_EQ(active_, 0);
  EXPECT_TRUE(engine_.quiet());
}

TEST_F(BetweenCallsTest, AReceiveThatIsCancelledBetweenCallsStaysUnwritten) {
  _req& cancelled = receive(1, 5, memory_, 100);
  _req& other = receive(1, MPI_ANY_TAG, memory_ + 100, 100);
  engine_.outside(true);
  const Landing first = arrive(message(0, 5), 1), second = arrive(message(1, 6), 1);
  engine_.outside(false);
  ASSERT_NE(first.buffer, memory_);
  std::memcpy(first.buffer, "a", 1);
  std::memcpy(second.buffer, "b", 1);
  cancel(cancelled);
  complete(first);
  complete(second);
  EXPECT_EQ(engine_.advance(&cancelled, false), 1);
  EXPECT_EQ(std::string(memory_), "");
  EXPECT_EQ(other.rq_status.MPI_TAG, 5) << "the first of both";
  EXPECT_EQ(memory_[100], 'a');
  EXPECT_EQ(receive(1, 6, memory_, 1).rq_state, LAM_RQSDONE);
  EXPECT_EQ(active_, 0);
}

TEST_F(BetweenCallsTest, AReceiveThatIsStartedAgainAfterACancelIsANewOne) {
  _req& request = receive(1, 5, memory_, 100);
  _req& other = receive(1, MPI_ANY_TAG, memory_ + 100, 100);
  engine_.outside(true);
  complete(arrive(message(0, 5), 1));
  engine_.outside(false);
  cancel(request);
  EXPECT_TRUE(start(request));
  EXPECT_EQ(request.rq_state, LAM_RQSSTART);
  EXPECT_EQ(other.rq_state, LAM_RQSDONE) << "it asked before";
}

TEST_F(BetweenCallsTest, AReceiveThatIsStartedAgainAfterACancelAndALossFailsOnce) {
  _req& request = receive(1, 5, memory_, 100);
  engine_.outside(true);
  engine_.lost(1, "it has ended");
  engine_.outside(false);
  cancel(request);
  EXPECT_TRUE(start(request));
  EXPECT_EQ(request.rq_status.MPI_ERROR, MPI_ERR_LOCALDEAD);
  EXPECT_EQ(active_, 0);
}

TEST_F(BetweenCallsTest, WhatComesAfterAMessageThatWaitsIsReceivedAfterIt) {
  _req& cancelled = receive(1, 5, memory_, 100);
  engine_.outside(true);
  complete(arrive(message(0, 5), 1));
  complete(arrive(message(1, 6), 1));
  engine_.outside(false);
  cancel(cancelled);
  EXPECT_EQ(receive(1, MPI_ANY_TAG, memory_, 1).rq_status.MPI_TAG, 5);
}

TEST_F(BetweenCallsTest, AProbeIsAnsweredInACall) {
  engine_.match_outside(true);
  _req& probe = build(LAM_RQIPROBE, 1, MPI_ANY_TAG, nullptr, 0);
  EXPECT_TRUE(start(probe));
  _req& request = receive(1, 6, memory_, 1);
  engine_.outside(true);
  complete(arrive(message(0, 5), 1));
  complete(arrive(message(1, 6), 1));
  engine_.outside(false);
  EXPECT_EQ(probe.rq_state, LAM_RQSSTART);
  EXPECT_EQ(request.rq_state, LAM_RQSSTART);
  engine_.advance(&probe, false);
  EXPECT_EQ(probe.rq_status.MPI_TAG, 5);
  EXPECT_EQ(request.rq_state, LAM_RQSDONE);
}

TEST_F(BetweenCallsTest, OneSidedReceivesMeetTheirMessagesInACall) {
  engine_.match_outside(true);
  _req& request = build(LAM_RQIRECV, 1, 5, memory_, 1);
  request.rq_marks |= LAM_RQFOSTARG;
  EXPECT_TRUE(start(request));
  engine_.outside(true);
  const Landing landing = arrive(message(0, 5), 1);
  engine_.outside(false);
  EXPECT_NE(landing.buffer, memory_);
}

TEST_F(BetweenCallsTest, AReceiveMeetsItsMessageAtOnceWhileCallsAreHeldOff) {
  holding_ = Holding::held;
  _req& request = receive(1, 5, memory_, 2);
  engine_.outside(true);
  EXPECT_FALSE(calls_are_held_) << "for nothing";
  const Landing landing = arrive(message(0, 5), 3);
  EXPECT_TRUE(calls_are_held_);
  EXPECT_EQ(request.rq_state, LAM_RQSACTIVE) << "it can be cancelled no more";
  complete(landing);
  engine_.outside(false);
  EXPECT_FALSE(calls_are_held_);
  EXPECT_EQ(request.rq_flags, 0);
  EXPECT_EQ(engine_.advance(&request, true), 1);
  EXPECT_EQ(request.rq_state, LAM_RQSDONE);
  EXPECT_NE(request.rq_flags & LAM_RQFTRUNC, 0);
  EXPECT_EQ(request.rq_status.MPI_TAG, 5);
  EXPECT_EQ(active_, 0);
}

TEST_F(BetweenCallsTest, ACancelledReceiveIsPassedByWhileCallsAreHeldOff) {
  holding_ = Holding::held;
  _req& cancelled = receive(1, 5, memory_, 1);
  _req& other = receive(1, MPI_ANY_TAG, memory_ + 100, 1);
  cancel(cancelled);
  engine_.outside(true);
  const Landing landing = arrive(message(0, 5), 1);
  EXPECT_EQ(landing.buffer, memory_ + 100);
  complete(landing);
  engine_.outside(false);
  engine_.advance(&cancelled, false);
  EXPECT_EQ(cancelled.rq_flags, LAM_RQFCANCEL);
  EXPECT_EQ(other.rq_state, LAM_RQSDONE);
  EXPECT_EQ(active_, 0);
}

TEST_F(BetweenCallsTest, OneSidedReceivesMeetTheirMessagesWhileCallsAreHeldOff) {
  engine_.match_outside(true);
  holding_ = Holding::held;
  _req& request = build(LAM_RQIRECV, 1, 5, memory_, 1);
  request.rq_marks |= LAM_RQFOSTARG;
  EXPECT_TRUE(start(request));
  engine_.outside(true);
  EXPECT_EQ(arrive(message(0, 5), 1).buffer, memory_);
  engine_.outside(false);
}

// The program is in a call that does not call the module; then it computes.
TEST_F(BetweenCallsTest, WhatCameWhileCallsCouldNotBeHeldOffIsMatchedOnceTheyCan) {
  holding_ = Holding::later;
  _req& first = receive(1, 5, memory_, 1);
  _req& second = receive(1, MPI_ANY_TAG, memory_ + 1, 1);
  engine_.outside(true);
  complete(arrive(message(0, 5), 1));
  engine_.outside(false);
  EXPECT_TRUE(engine_.waits_for_program());
  EXPECT_EQ(first.rq_state, LAM_RQSSTART);
  holding_ = Holding::held;
  engine_.outside(true);
  EXPECT_EQ(first.rq_state, LAM_RQSACTIVE);
  complete(arrive(message(1, 6), 1));
  engine_.outside(false);
  EXPECT_FALSE(engine_.waits_for_program());
  EXPECT_EQ(second.rq_state, LAM_RQSACTIVE);
  EXPECT_EQ(engine_.advance(&first, false), 1);
  EXPECT_EQ(first.rq_state, LAM_RQSDONE);
  EXPECT_EQ(second.rq_state, LAM_RQSDONE);
}

TEST_F(BetweenCallsTest, WhatComesWhereCallsCannotBeHeldOffWaitsForTheNext) {
  _req& request = receive(1, 5, memory_, 1);
  engine_.outside(true);
  complete(arrive(message(0, 5), 1));
  engine_.outside(false);
  EXPECT_FALSE(engine_.waits_for_program());
  EXPECT_EQ(request.rq_state, LAM_RQSSTART);
  EXPECT_EQ(engine_.advance(&request, false), 1);
  EXPECT_EQ(request.rq_state, LAM_RQSDONE);
}

// What has come before is received, whatever the order in which it is told.
TEST_F(BetweenCallsTest, WhoIsLostBetweenCallsIsLostAfterWhatItSent) {
  _req& had = receive(1, 5, memory_, 1);
  _req& waits = receive(1, 6, memory_, 1);
  engine_.outside(true);
  complete(arrive(message(0, 5), 1));
  engine_.lost(1, "it has ended");
  engine_.outside(false);
  EXPECT_TRUE(told_.empty());
  engine_.advance(&had, false);
  EXPECT_EQ(had.rq_status.MPI_ERROR, MPI_SUCCESS);
  EXPECT_EQ(waits.rq_status.MPI_ERROR, MPI_ERR_LOCALDEAD);
  EXPECT_EQ(told_, std::vector<std::string>{"is lost: it has ended"});
}

// LAM has cancelled it although nobody seemed to: it was too late.
TEST_F(BetweenCallsTest, AReceiveThatIsCancelledAfterItHasMetItsMessageIsNotCancelled) {
  engine_.match_outside(true);
  _req& request = receive(1, 5, memory_, 1);
  engine_.outside(true);
  complete(arrive(message(0, 5), 1));
  engine_.outside(false);
  request.rq_state = LAM_RQSDONE;
  request.rq_flags |= LAM_RQFCANCEL;
  request.rq_status.MPI_SOURCE = MPI_CANCEL_SOURCE;
  --active_;
  engine_.advance(&request, false);
  EXPECT_EQ(request.rq_state, LAM_RQSDONE);
  EXPECT_EQ(request.rq_flags & LAM_RQFCANCEL, 0);
  EXPECT_EQ(request.rq_status.MPI_SOURCE, 1);
  EXPECT_EQ(active_, 0);
}

}  // namespace
}  // namespace openlapi::rpi
