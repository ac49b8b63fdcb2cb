// What leaves over which of two paths when one goes silent, in one direction or in both, and comes back.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/unit/paths/several_paths_fixture.h"

namespace openlapi {
namespace {

TEST_F(SeveralPathsTest, TheFirstOneIsUsedWhileItServes) {
  for (unsigned char i = 0; i < 20; ++i) {
    send(i);
    exchange();
  }
  expect_all_delivered();
  EXPECT_EQ(arrived_over_second(), 0u);
  EXPECT_EQ(a_.other_transport.counters().packets_received, 0u);
}

TEST_F(SeveralPathsTest, RecordsFitEachPath) {
  EXPECT_EQ(a_.channel->max_record(), ChannelSide::kMaxPacket / 2 - wire::kPacketHeaderSize);
}

TEST_F(SeveralPathsTest, WhatASilentPathHasNotBroughtLeavesOverTheNext) {
  send(1);
  expect_all_delivered();
  silence(a_.transport);
  for (unsigned char i = 2; i < 12; ++i) send(i);
  exchange();
  EXPECT_EQ(b_.delivered.size(), 1u);
  let_time_out();
  expect_all_delivered();
  const std::uint64_t before = arrived_over_second();
  EXPECT_GT(before, 0u);
  send(12);
  exchange();
  EXPECT_TRUE(all_delivered()) << "without a time-out";
  EXPECT_GT(arrived_over_second(), before);
}

TEST_F(SeveralPathsTest, ASilentPathIsUsedAgainWhenItAnswersAProbe) {
  lose_the_first_path();
  silence(a_.transport, false);
  pass(tuning::kLongestProbePause);
  expect_next_over_the_first();
}

// As where the probes of many peers are due at the same times, each time.
TEST_F(SeveralPathsTest, AProbeThatFindsThePathFullIsSentSoonAfterwards) {
  lose_the_first_path();
  for (int i = 0; i < 10; ++i) pass(tuning::kLongestProbePause);
  silence(a_.transport, false);
  b_.transport.set_room(0);
  pass(tuning::kLongestProbePause);
  b_.transport.set_room(10'000);
  pass(tuning::kLongestProbePause / 8);
  expect_next_over_the_first();
}

// The peer's packets come over the path, ours do not arrive there.
TEST_F(SeveralPathsTest, APathThatIsDeadInOneDirectionDoesNotServe) {
  lose_the_first_path();
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(b_.send(Bytes(8, 9))) << "over the first path";
    exchange();
    pass(tuning::kLongestProbePause);
  }
  EXPECT_EQ(a_.delivered.size(), 10u);
  const std::uint64_t before = arrived_over_second();
  send(3);
  exchange();
  EXPECT_TRUE(all_delivered());
  EXPECT_GT(arrived_over_second(), before);
}

// Ours arrive, and what acknowledges them does not come back: it has to return where the next packet comes from.
TEST_F(SeveralPathsTest, AnAcknowledgementReturnsOverThePathThatServes) {
  send(1);
  expect_all_delivered();
  silence(b_.transport);
  send(2);
  exchange();
  EXPECT_TRUE(all_delivered());
  EXPECT_FALSE(a_.set.settled());
  let_time_out();
  expect_all_delivered();
}

// It is not made with the job's key, and what comes from the peer's address without it says nothing of the paths.
TEST_F(SeveralPathsTest, AnAcknowledgementDoesNotFollowAStrangersPacket) {
  send(1);
  expect_all_delivered();
  const std::uint64_t before = a_.other_transport.counters().packets_received;
  send(2);
  b_.set.receive();
  b_.other_transport.put_back({b_.first_packet(b_.header_of_peer(), SipKey{7, 7})});
  b_.set.receive();
  clock_.advance(tuning::kAckDelay);
  exchange();
  EXPECT_TRUE(a_.set.settled());
  EXPECT_EQ(a_.other_transport.counters().packets_received, before);
}

// Ours arrive over one path only, and the peer's over the other one only.
TEST_F(SeveralPathsTest, TwoPathsThatAreDeadInOneDirectionEachServeTogether) {
  silence(a_.transport);
  silence(b_.other_transport);
  for (unsigned char i = 0; i < 20; ++i) {
    send(i);
    for (int wait = 0; wait < 4 && !a_.set.settled(); ++wait) pass(tuning::kLongestRetransmitTimeout);
    ASSERT_TRUE(all_delivered());
    ASSERT_TRUE(a_.set.settled()) << "after " << static_cast<unsigned>(i);
    ASSERT_TRUE(b_.send(Bytes(8, i)));
    for (int wait = 0; wait < 4 && !b_.set.settled(); ++wait) pass(tuning::kLongestRetransmitTimeout);
    ASSERT_TRUE(b_.set.settled()) << "after " << static_cast<unsigned>(i);
  }
  EXPECT_EQ(a_.delivered.size(), 20u);
  EXPECT_TRUE(a_.timed_out.empty() && b_.timed_out.empty());
}

TEST_F(SeveralPathsTest, BothAreTriedWhileNoneServes) {
  send(1);
  expect_all_delivered();
  for (MemoryTransport* transport : {&a_.transport, &a_.other_transport}) silence(*transport);
  send(2);
  for (int i = 0; i < 20; ++i) pass(20 * kMillisecond);
  EXPECT_EQ(b_.delivered.size(), 1u);
  EXPECT_TRUE(a_.timed_out.empty());
  silence(a_.other_transport, false);
  for (int i = 0; i < 4; ++i) pass(tuning::kLongestRetransmitTimeout);
  expect_all_delivered();
}

TEST_F(SeveralPathsTest, WhatWasTriedOverDeadPathsLeavesOverTheFirstThatAnswers) {
  send(1);
  expect_all_delivered();
  for (MemoryTransport* transport : {&a_.transport, &a_.other_transport}) silence(*transport);
  send(2);
  for (int i = 0; i < 50; ++i) pass(50 * kMillisecond);
  silence(a_.other_transport, false);
  const std::uint64_t before = arrived_over_second();
  for (int i = 0; i < 1000 && arrived_over_second() == before; ++i) pass(kMillisecond);
  EXPECT_TRUE(all_delivered()) << "without another time-out";
}

TEST_F(SeveralPathsTest, APathThatAnswersIsNotLeftForWhatWasTriedOverItBefore) {
  send(1);
  expect_all_delivered();
  for (unsigned char turn = 0; turn != 10; ++turn) {
    for (MemoryTransport* transport : {&a_.transport, &a_.other_transport}) silence(*transport);
    send(turn);
    for (int i = 0; i < 60 + turn; ++i) pass(50 * kMillisecond);
    for (MemoryTransport* transport : {&a_.transport, &a_.other_transport}) silence(*transport, false);
    for (Nanoseconds time = 0; time <= tuning::kLongestProbePause; time += kMillisecond) pass(kMillisecond);
    EXPECT_TRUE(all_delivered());
    for (const PathStatus& path : a_.channel->path_statuses()) EXPECT_EQ(path.silent_since, 0u) << turn;
  }
}

TEST_F(SeveralPathsTest, APeerThatNoPathReachesTimesOut) {
  send(1);
  expect_all_delivered();
  for (MemoryTransport* transport : {&a_.transport, &a_.other_transport}) silence(*transport);
  send(2);
  for (int i = 0; i < 120; ++i) pass(100 * kMillisecond);
  EXPECT_FALSE(a_.timed_out.empty());
}

// Stopped, or computing without a call, for longer than the time-out: what the peer has sent meanwhile comes first.
TEST_F(SeveralPathsTest, WhoWasAwayListensBeforeItTakesAnybodyForLost) {
  send(1);
  expect_all_delivered();
  be_away();
  EXPECT_TRUE(a_.timed_out.empty());
  expect_all_delivered();
}

// Also behind other absences, in which nobody would have been lost.
TEST_F(SeveralPathsTest, WhoWasAwayBeforeListensAgain) {
  for (int i = 0; i < 3; ++i) {
    send(1);
    expect_all_delivered();
    pass(2 * kSecond);
  }
  be_away();
  EXPECT_TRUE(a_.timed_out.empty());
}

TEST_F(SeveralPathsTest, WhoLooksSeldomGivesUpTheDeadAllTheSame) {
  for (const Nanoseconds pause : {kSecond, 35 * kSecond}) {
    for (MemoryTransport* transport : {&a_.transport, &a_.other_transport}) silence(*transport);
    send(1);
    for (Nanoseconds passed = 0; passed < 70 * kSecond; passed += pause) pass(pause);
    EXPECT_FALSE(a_.timed_out.empty()) << pause;
    a_.timed_out.clear();
  }
}

TEST_F(SeveralPathsTest, TheFirstContactFindsThePathThatServes) {
  silence(a_.transport);
  send(1);
  pass(tuning::kFirstRetransmitTimeout);
  expect_all_delivered();
}

// An adapter whose queue is full and is not emptied: there is nothing in flight that could be missed.
TEST_F(SeveralPathsTest, APathThatTakesNothingDoesNotServe) {
  send(1);
  expect_all_delivered();
  b_.transport.set_room(0);
  send(2);
  for (int i = 0; i < 2; ++i) let_time_out();
  expect_all_delivered();
  EXPECT_GT(arrived_over_second(), 0u);
  b_.transport.set_room(10'000);
  pass(tuning::kLongestProbePause);
  expect_next_over_the_first();
}

// Full for a moment, as adapters are: what cannot wait leaves over the other one, and the next over the first again.
TEST_F(SeveralPathsTest, APathThatIsFullForAMomentServes) {
  send(1);
  expect_all_delivered();
  for (int i = 0; i < 20; ++i) {
    b_.transport.set_room(0);
    send(2);
    pass(tuning::kShortestRetransmitTimeout / 2);
    b_.transport.set_room(10'000);
    expect_next_over_the_first();
  }
}

TEST_F(SeveralPathsTest, APeerThatNoPathTakesAnythingForTimesOut) {
  for (MemoryTransport* transport : {&b_.transport, &b_.other_transport}) transport->set_room(0);
  send(1);
  for (int i = 0; i < 120; ++i) pass(100 * kMillisecond);
  EXPECT_FALSE(a_.timed_out.empty());
}

TEST_F(SeveralPathsTest, ProbesGoOnWhileNothingElseIsSent) {
  lose_the_first_path();
  EXPECT_TRUE(a_.set.needs_clock());
  EXPECT_NE(a_.set.deadline(), UINT64_MAX);
  for (int i = 0; i < 20; ++i) pass(tuning::kLongestProbePause);
  silence(a_.transport, false);
  pass(tuning::kLongestProbePause);
  EXPECT_EQ(a_.set.deadline(), UINT64_MAX) << "all paths serve";
  EXPECT_FALSE(a_.set.needs_clock());
}

TEST_F(SeveralPathsTest, PathsThatComeAndGoLoseAndDoubleNothing) {
  std::mt19937 random(7);
  const auto chance = [&](unsigned of) { return random() % of == 0; };
  for (unsigned i = 0; i < 3000; ++i) {
    for (MemoryTransport* transport : {&a_.transport, &a_.other_transport, &b_.transport, &b_.other_transport}) {
      if (chance(40)) transport->make_lossy(chance(2) ? 0 : chance(2) ? 1 : 0.2, i);
    }
    if (a_.channel->reliable().has_room() && chance(2)) send(static_cast<unsigned char>(i));
    if (chance(3)) pass(chance(4) ? 30 * kMillisecond : kMillisecond);
  }
  for (ChannelSide* side : {&a_, &b_}) {
    silence(side->transport, false);
    silence(side->other_transport, false);
  }
  for (int i = 0; i < 10; ++i) pass(tuning::kLongestRetransmitTimeout);
  expect_all_delivered();
  EXPECT_GT(sent_.size(), 8 * 1000u);
  EXPECT_EQ(a_.statistics().ghost_packets, 0u);
}

// A peer that was told, or has waited for its own time-out, sends over the second path. What was sent to it over the
// first one meanwhile is not waited for as long.
TEST_F(SeveralPathsTest, APeerThatSendsOverAnotherPathIsFollowed) {
  send(1);
  expect_all_delivered();
  ASSERT_TRUE(b_.send(Bytes(8, 9)));
  pass(10 * kMicrosecond);
  pass(kMillisecond);
  pass(tuning::kPathSilence);
  for (ChannelSide* side : {&a_, &b_}) silence(side->transport);
  ASSERT_TRUE(b_.send(Bytes(8, 10)));
  a_.transport.say_of_link(false);
  send(2);
  pass(tuning::kLinkLookPause);
  EXPECT_EQ(a_.delivered.size(), 1u);
  pass(tuning::kShortestReorderTime + 100 * kMicrosecond);
  EXPECT_EQ(a_.delivered.size(), 2u) << "before the shortest time-out";
  EXPECT_GT(a_.other_transport.counters().packets_received, 0u);
  expect_all_delivered();
}

// It is late with its acknowledgements, and was heard over ours, too.
TEST_F(SeveralPathsTest, APeerThatSendsOverBothPathsIsNotFollowed) {
  lose_the_first_path();
  silence(a_.transport, false);
  pass(tuning::kLongestProbePause);
  a_.transport.say_of_link(false);
  a_.transport.look();
  send(3);
  const MemoryTransport::Copies from_second = b_.other_transport.take_waiting();
  a_.transport.say_of_link(true);
  pass(tuning::kLinkLookPause);
  ASSERT_EQ(from_second.size(), 1u);
  pass(tuning::kLongestProbePause);
  ASSERT_TRUE(b_.send(Bytes(8, 1)));
  pass(10 * kMicrosecond);
  for (int part = 0; part < 20; ++part) pass(100 * kMicrosecond);
  send(4);
  b_.set.receive();  // over the first path
  ASSERT_TRUE(b_.send(Bytes(8, 2)));
  a_.transport.forget_waiting();
  b_.other_transport.put_back(from_second);
  b_.set.receive();
  clock_.advance(2 * tuning::kShortestReorderTime);
  b_.set.run_timers(clock_.now());
  EXPECT_EQ(b_.statistics().retransmitted_packets, 0u) << "it has a whole time-out";
}

TEST_F(SeveralPathsTest, APeerThatSendsOverAnotherPathIsNotFollowedWhileOursServes) {
  lose_the_first_path();
  silence(a_.transport, false);
  for (unsigned char i = 0; i < 10; ++i) {
    ASSERT_TRUE(b_.send(Bytes(8, i)));  // over the first one; ours leave over the second
    send(i);
    for (int part = 0; part < 20; ++part) pass(100 * kMicrosecond);
  }
  EXPECT_EQ(a_.delivered.size(), 10u);
  EXPECT_EQ(b_.statistics().retransmitted_packets, 0u);
}

}  // namespace
}  // namespace openlapi
