// Two paths with word of their links from outside of the traffic.
#include <gtest/gtest.h>

#include "tests/unit/paths/several_paths_fixture.h"

namespace openlapi {
namespace {

TEST_F(SeveralPathsTest, WhatALinkThatIsSaidToBeDownHasNotBroughtLeavesAtOnce) {
  send(1);
  expect_all_delivered();
  silence(a_.transport);
  for (unsigned char i = 2; i < 12; ++i) send(i);
  exchange();
  EXPECT_EQ(b_.delivered.size(), 1u);
  a_.transport.say_of_link(false);
  pass(tuning::kLinkLookPause);
  EXPECT_TRUE(all_delivered()) << "without a time-out";
  EXPECT_GT(arrived_over_second(), 0u);
}

TEST_F(SeveralPathsTest, ALinkThatIsSaidToBeUpIsProbedAtOnce) {
  lose_the_first_path();
  a_.transport.say_of_link(false);
  for (int i = 0; i < 20; ++i) pass(tuning::kLongestProbePause);
  silence(a_.transport, false);
  a_.transport.say_of_link(true);
  pass(tuning::kLinkLookPause);
  expect_next_over_the_first();
}

TEST_F(SeveralPathsTest, AWrongWordOfALinkIsFoundOut) {
  send(1);
  expect_all_delivered();
  send(2);
  a_.transport.say_of_link(false);
  pass(tuning::kLinkLookPause);
  expect_all_delivered();
  pass(tuning::kFirstProbePause);
  const std::uint64_t before = arrived_over_second();
  send(3);
  expect_all_delivered();
  EXPECT_EQ(arrived_over_second(), before) << "it has answered a probe";
}

TEST_F(SeveralPathsTest, AWrongWordIsFoundOutAsSoonWhereThePathWasSilentForLongBefore) {
  lose_the_first_path();
  for (int i = 0; i < 20; ++i) pass(tuning::kLongestProbePause);
  silence(a_.transport, false);
  pass(tuning::kLongestProbePause);
  expect_next_over_the_first();
  a_.transport.say_of_link(false);
  send(4);
  pass(tuning::kLinkLookPause);
  expect_all_delivered();
  pass(tuning::kFirstProbePause);
  const std::uint64_t before = arrived_over_second();
  send(5);
  expect_all_delivered();
  EXPECT_EQ(arrived_over_second(), before) << "it has carried data since";
}

TEST_F(SeveralPathsTest, WordOfALinkThatCameWhileNothingWasSentCountsForTheNextPacket) {
  send(1);
  expect_all_delivered();
  silence(a_.transport);
  a_.transport.say_of_link(false);
  a_.transport.look();  // as whoever is about to sleep does
  send(2);
  exchange();
  EXPECT_TRUE(all_delivered()) << "without a time-out";
}

TEST_F(SeveralPathsTest, WhatTheOtherEndIsOwedLeavesOverTheLinkThatIsUp) {
  send(1);
  expect_all_delivered();
  ASSERT_TRUE(b_.send(Bytes(8, 7)));
  a_.set.receive();  // an acknowledgement would be delayed
  silence(a_.transport);
  a_.transport.say_of_link(false);
  const std::uint64_t before = arrived_over_second();
  pass(tuning::kLinkLookPause);
  EXPECT_TRUE(b_.set.settled());
  EXPECT_GT(arrived_over_second(), before);
}

TEST_F(SeveralPathsTest, WhereAllLinksAreSaidToBeDownAllAreTried) {
  send(1);
  expect_all_delivered();
  a_.transport.say_of_link(false);
  a_.other_transport.say_of_link(false);
  silence(a_.transport);
  send(2);
  for (int i = 0; i < 20; ++i) pass(20 * kMillisecond);
  expect_all_delivered();
}

TEST_F(SeveralPathsTest, ALinkThatIsDownIsToldAsTheCause) {
  send(1);
  expect_all_delivered();
  silence(a_.transport);
  send(2);
  a_.transport.say_of_link(false);
  for (int i = 0; i < 3; ++i) pass(kMillisecond);
  expect_all_delivered();
  ASSERT_EQ(a_.path_changes.size(), 1u);
  const PathChange& failure = a_.path_changes[0];
  EXPECT_EQ(failure.cause, PathCause::link_down);
  EXPECT_EQ(failure.path, &a_.transport);
  EXPECT_EQ(failure.taken, &a_.other_transport);
  EXPECT_LE(failure.idle, 3 * kMillisecond);
  for (int i = 0; i < 100; ++i) pass(kMillisecond);
  EXPECT_EQ(a_.path_changes.size(), 1u) << "once";
}

TEST_F(SeveralPathsTest, WhereAllLinksAreDownNoneIsSaidToBeTaken) {
  send(1);
  expect_all_delivered();
  for (MemoryTransport* transport : {&a_.transport, &a_.other_transport}) {
    silence(*transport);
    transport->say_of_link(false);
  }
  send(2);
  for (int i = 0; i < 20; ++i) pass(kMillisecond);
  ASSERT_EQ(a_.path_changes.size(), 1u);
  EXPECT_EQ(a_.path_changes[0].cause, PathCause::link_down);
  EXPECT_EQ(a_.path_changes[0].taken, nullptr);
}

// A peer that is begun anew with is not looked for over a link that is known to be down.
TEST_F(SeveralPathsTest, ANewBeginningKnowsOfTheLinks) {
  lose_the_first_path();
  a_.transport.say_of_link(false);
  pass(tuning::kLinkLookPause);
  a_.channel->reset();
  b_.channel->reset();
  send(3);
  exchange();
  EXPECT_TRUE(all_delivered()) << "without a time-out";
}

TEST_F(SeveralPathsTest, LinksAreLookedAtNowAndThen) {
  send(1);
  expect_all_delivered();
  silence(a_.transport);
  silence(a_.other_transport);
  send(2);
  const std::size_t before = a_.transport.link_looks();
  for (int i = 0; i < 1000; ++i) {
    clock_.advance(tuning::kLinkLookPause / 100);
    a_.set.run_timers(clock_.now());
  }
  EXPECT_NEAR(static_cast<double>(a_.transport.link_looks() - before), 10, 1);
}

// Its address may change.
TEST(OnePath, ItsLinkIsAskedForAsWell) {
  TurnedClock clock;
  EndpointConfig config;
  config.timeout = 10 * kSecond;
  MemoryTransport transport(0, 1024);
  transport.make_lossy(0, 1);
  ChannelSide listener(0, config, clock);
  Transport* const only = &transport;
  ChannelSet set(config, {&only, 1}, clock, listener);
  EXPECT_FALSE(set.notices().empty());
  EXPECT_FALSE(set.needs_clock());
  set.run_timers(clock.now());
  EXPECT_EQ(transport.link_looks(), 1u);
}

}  // namespace
}  // namespace openlapi
