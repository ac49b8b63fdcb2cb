// What is told of two paths that fail and serve again, and what is known of what they have carried.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/paths/several_paths_fixture.h"

namespace openlapi {
namespace {

TEST_F(SeveralPathsTest, AFailureAndItsEndAreTold) {
  lose_the_first_path();
  for (int i = 0; i < 20; ++i) pass(kMillisecond);
  ASSERT_EQ(a_.path_changes.size(), 1u);
  const PathChange& failure = a_.path_changes[0];
  EXPECT_EQ(failure.cause, PathCause::no_answer);
  EXPECT_EQ(failure.path, &a_.transport);
  EXPECT_EQ(failure.taken, &a_.other_transport);
  EXPECT_GE(failure.waited, tuning::kFirstProbePause);
  EXPECT_EQ(failure.idle, tuning::kShortestRetransmitTimeout) << "until what had been lost was sent over the second";
  EXPECT_EQ(failure.untold, 0u);
  EXPECT_TRUE(b_.path_changes.empty()) << "what it sends arrives";
  EXPECT_EQ(a_.transport.failed_paths(), std::vector<PeerIndex>{1}) << "whoever can looks into it";
  EXPECT_TRUE(a_.other_transport.failed_paths().empty());

  pass(tuning::kPathChangePause);
  silence(a_.transport, false);
  pass(tuning::kLongestProbePause);
  ASSERT_EQ(a_.path_changes.size(), 2u);
  const PathChange& end = a_.path_changes[1];
  EXPECT_EQ(end.cause, PathCause::answered);
  EXPECT_EQ(end.path, &a_.transport);
  EXPECT_EQ(end.taken, &a_.transport);
  EXPECT_GT(end.waited, tuning::kPathChangePause);
}

TEST_F(SeveralPathsTest, EveryFailureIsReportedWhenItIsFound) {
  lose_the_first_path();
  for (int i = 0; i < 20; ++i) pass(kMillisecond);
  EXPECT_EQ(a_.transport.failed_paths().size(), 1u);
  silence(a_.transport, false);
  for (int i = 0; i < 100; ++i) pass(kMillisecond);
  expect_next_over_the_first();
  silence(a_.transport);
  send(4);
  for (int i = 0; i < 300; ++i) pass(kMillisecond);
  EXPECT_EQ(a_.transport.failed_paths().size(), 2u);
  EXPECT_EQ(a_.path_changes.size(), 1u) << "the line has its pause";
}

// A task that computes in polling mode answers nothing, and everything later.
TEST_F(SeveralPathsTest, NothingIsToldOfAPeerThatAnswersOverNoPath) {
  send(1);
  expect_all_delivered();
  for (unsigned char round = 0; round < 10; ++round) {
    send(2 + round);
    for (int i = 0; i < 300; ++i) {
      clock_.advance(kMillisecond);
      a_.set.receive();
      a_.set.run_timers(clock_.now());
      a_.transmit();
    }
    pass(kMillisecond);
    expect_all_delivered();
  }
  for (int i = 0; i < 20; ++i) pass(100 * kMillisecond);
  EXPECT_TRUE(a_.path_changes.empty());
}

TEST_F(SeveralPathsTest, NothingIsToldWhileNoneServes) {
  send(1);
  expect_all_delivered();
  for (MemoryTransport* transport : {&a_.transport, &a_.other_transport}) silence(*transport);
  send(2);
  for (int i = 0; i < 50; ++i) pass(100 * kMillisecond);
  EXPECT_TRUE(a_.path_changes.empty());
}

TEST_F(SeveralPathsTest, APathThatComesAndGoesIsToldOfOnceASecond) {
  send(1);
  expect_all_delivered();
  const Nanoseconds begin = clock_.now();
  while (clock_.now() - begin < 10 * kSecond) {
    silence(a_.transport);
    send(2);
    for (int step = 0; step < 60; ++step) pass(kMillisecond);
    silence(a_.transport, false);
    for (int step = 0; step < 200; ++step) {
      pass(kMillisecond);
      if (step % 20 == 0) send(3);
    }
  }
  EXPECT_GE(a_.path_changes.size(), 5u);
  EXPECT_LE(a_.path_changes.size(), 11u);
  std::uint32_t untold = 0;
  for (const PathChange& change : a_.path_changes) untold += change.untold;
  EXPECT_GE(untold, 5u);
  EXPECT_GE(a_.channel->path_statuses()[0].failures, (a_.path_changes.size() + untold) / 2);
}

// The peer is late now and then: all paths go silent, and what is tried over the first one arrives, but brings no
// answer there.
TEST_F(SeveralPathsTest, APathThatBringsNothingBackFailsOnce) {
  send(1);
  expect_all_delivered();
  silence(b_.transport);
  for (unsigned char round = 2; round != 12; ++round) {
    for (int i = 0; i < 15; ++i) {
      send(round);
      clock_.advance(kMillisecond);
      a_.set.receive();
      a_.set.run_timers(clock_.now());
      a_.transmit();
    }
    for (int i = 0; i < 100; ++i) pass(kMillisecond);
    expect_all_delivered();
  }
  EXPECT_EQ(a_.channel->path_statuses()[0].failures, 1u);
  EXPECT_EQ(a_.channel->path_statuses()[1].failures, 0u);
  EXPECT_EQ(a_.path_changes.size(), 1u);
  silence(b_.transport, false);
  pass(tuning::kLongestProbePause);
  EXPECT_EQ(a_.channel->path_statuses()[0].silent_since, 0u);
}

TEST_F(SeveralPathsTest, ALostLinkIsToldOnceAlsoWhereThePeerBeginsAnew) {
  send(1);
  expect_all_delivered();
  for (MemoryTransport* transport : {&a_.transport, &a_.other_transport}) {
    transport->say_of_link(false);
    silence(*transport);
  }
  send(2);
  for (int i = 0; i < 30; ++i) pass(100 * kMillisecond);
  const std::size_t told = a_.path_changes.size();
  EXPECT_EQ(a_.path_changes.back().taken, nullptr);
  EXPECT_EQ(std::ranges::count(a_.path_changes, true, &PathChange::none_serves), 1);
  a_.channel->begin_anew();
  for (int i = 0; i < 30; ++i) pass(100 * kMillisecond);
  EXPECT_EQ(a_.path_changes.size(), told);
  for (const PathStatus& path : a_.channel->path_statuses()) EXPECT_EQ(path.failures, 1u);

  for (MemoryTransport* transport : {&a_.transport, &a_.other_transport}) {
    transport->say_of_link(true);
    silence(*transport, false);
  }
  for (int i = 0; i < 30; ++i) pass(100 * kMillisecond);
  EXPECT_GT(a_.path_changes.size(), told);
  EXPECT_FALSE(a_.path_changes.back().failed());
}

// Both links are down when the first one is told of, and the other one is told of later.
TEST_F(SeveralPathsTest, ThatNoneServesIsToldOnceUntilOneDoes) {
  send(1);
  expect_all_delivered();
  for (int turn = 1; turn != 4; ++turn) {
    a_.channel->doubt(1);
    for (const bool up : {false, true}) {
      for (MemoryTransport* transport : {&a_.transport, &a_.other_transport}) {
        transport->say_of_link(up);
        silence(*transport, !up);
      }
      pass(tuning::kLinkLookPause);
      send(2);
      for (int i = 0; i < 30; ++i) pass(100 * kMillisecond);
    }
    EXPECT_EQ(std::ranges::count(a_.path_changes, true, &PathChange::none_serves), turn);
    EXPECT_EQ(std::ranges::count(a_.path_changes, nullptr, &PathChange::taken), 2 * turn);
  }
}

TEST_F(SeveralPathsTest, ALinkThatIsUpWhenThePeerBeginsAnewIsNotSilent) {
  send(1);
  expect_all_delivered();
  a_.transport.say_of_link(false);
  send(2);
  pass(tuning::kLinkLookPause);
  EXPECT_NE(a_.channel->path_statuses()[0].silent_since, 0u);
  a_.transport.say_of_link(true);
  a_.transport.look();
  a_.channel->begin_anew();
  EXPECT_EQ(a_.channel->path_statuses()[0].silent_since, 0u);
}

class PathToBe : public SeveralPathsTest {
 protected:
  void SetUp() override {
    a_.other_transport.say_not_there_yet();
    silence(a_.other_transport);
    silence(b_.other_transport);
    send(1);
    expect_all_delivered();
    for (int i = 0; i < 50; ++i) pass(100 * kMillisecond);
    ASSERT_FALSE(second().is_there);
  }
  void tell_where() {
    a_.other_transport.say_of_link(true);
    pass(tuning::kLinkLookPause);
  }
  PathStatus second() const { return a_.channel->path_statuses()[1]; }
};

TEST_F(PathToBe, HasNotFailedBeforeItIsThere) {
  a_.channel->doubt(1);
  for (int i = 0; i < 50; ++i) pass(100 * kMillisecond);
  EXPECT_TRUE(a_.path_changes.empty());
  EXPECT_EQ(second().failures, 0u);
  EXPECT_EQ(second().silent_since, 0u);
  EXPECT_TRUE(a_.other_transport.failed_paths().empty());
}

TEST_F(PathToBe, IsNotTriedWhileTheOthersAreSilent) {
  silence(a_.transport);
  for (unsigned char what = 2; what != 10; ++what) {
    send(what);
    for (int i = 0; i < 30; ++i) pass(10 * kMillisecond);
  }
  EXPECT_EQ(second().packets, 0u);
  EXPECT_FALSE(second().in_use);
  silence(a_.transport, false);
  for (int i = 0; i < 30; ++i) pass(100 * kMillisecond);
  expect_all_delivered();
}

TEST_F(PathToBe, ServesWithoutAWordOfIt) {
  for (MemoryTransport* transport : {&a_.other_transport, &b_.other_transport}) silence(*transport, false);
  tell_where();
  for (int i = 0; i < 50; ++i) pass(kMillisecond);
  EXPECT_TRUE(second().is_there);
  EXPECT_EQ(second().silent_since, 0u);
  EXPECT_TRUE(a_.path_changes.empty());
}

TEST_F(PathToBe, FailsOnceItIsThereAndDoesNotAnswer) {
  tell_where();
  EXPECT_NE(second().silent_since, 0u);
  for (int i = 0; i < 50; ++i) pass(kMillisecond);
  ASSERT_EQ(a_.path_changes.size(), 1u);
  EXPECT_EQ(a_.path_changes[0].cause, PathCause::no_answer);
  EXPECT_EQ(a_.path_changes[0].path, &a_.other_transport);
  EXPECT_EQ(second().failures, 1u);
}

TEST_F(PathToBe, IsNotSaidToCarryWhatTheOnlyOneDoesNot) {
  a_.transport.say_of_link(false);
  for (int i = 0; i < 50; ++i) pass(kMillisecond);
  ASSERT_EQ(a_.path_changes.size(), 1u);
  EXPECT_EQ(a_.path_changes[0].path, &a_.transport);
  EXPECT_EQ(a_.path_changes[0].taken, nullptr);
}

TEST_F(SeveralPathsTest, ItIsKnownWhatEachPathHasCarried) {
  lose_the_first_path();
  send(3);
  expect_all_delivered();
  const std::vector<PathStatus> paths = a_.channel->path_statuses();
  ASSERT_EQ(paths.size(), 2u);
  EXPECT_EQ(paths[0].transport, &a_.transport);
  EXPECT_EQ(paths[0].packets, 2u);
  EXPECT_GT(paths[0].bytes, 2 * wire::kPacketHeaderSize);
  EXPECT_EQ(paths[0].again, 0u);
  EXPECT_EQ(paths[0].lost, 1u);
  EXPECT_NE(paths[0].silent_since, 0u);
  EXPECT_FALSE(paths[0].in_use);
  EXPECT_EQ(paths[1].transport, &a_.other_transport);
  EXPECT_EQ(paths[1].packets, 2u);
  EXPECT_EQ(paths[1].again, 1u);
  EXPECT_EQ(paths[1].lost + paths[1].failures, 0u);
  EXPECT_EQ(paths[1].silent_since, 0u);
  EXPECT_TRUE(paths[1].in_use);
}

}  // namespace
}  // namespace openlapi
