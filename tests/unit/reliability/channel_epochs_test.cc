// Tasks that die and come back: nothing is delivered to two incarnations, and both sides find each other again.
#include <gtest/gtest.h>

#include <memory>

#include "tests/unit/reliability/channel_end.h"

namespace openlapi {
namespace {

constexpr Nanoseconds kNow = kSecond;
constexpr Epoch kLastEpoch = (Epoch{1} << 48) - 1;

class ChannelEpochsTest : public testing::Test {
 protected:
  void start_left(Epoch epoch, Epoch peer_epoch = 0) {
    left_ = std::make_unique<ChannelEnd>(EndConfig{.self = 0, .epoch = epoch, .epochs = {0, peer_epoch}});
  }
  void start_right(Epoch epoch) { right_ = std::make_unique<ChannelEnd>(EndConfig{.self = 1, .epoch = epoch}); }

  // Carries packets both ways until none is left.
  void exchange() {
    for (int round = 0; round < 10; ++round) {
      right_->receive_all(left_->transmit(kNow), kNow);
      left_->receive_all(right_->transmit(kNow), kNow);
    }
  }

  std::unique_ptr<ChannelEnd> left_;
  std::unique_ptr<ChannelEnd> right_;
};

TEST_F(ChannelEpochsTest, FirstPacketIsAnsweredWithTheEpochAndComesAgain) {
  start_left(1);
  start_right(7);
  left_->send(0);
  left_->send(1);
  const auto first = left_->transmit(kNow);
  EXPECT_EQ(first.size(), 1u) << "one asks for all";
  right_->receive_all(first, kNow);
  EXPECT_TRUE(right_->delivered.empty());
  EXPECT_EQ(right_->counters().ghosts, 0u) << "the sender could not know better";
  const auto answer = right_->transmit(kNow);
  ASSERT_EQ(answer.size(), 1u);
  EXPECT_EQ(answer[0].size(), wire::kPacketHeaderSize);
  left_->receive_all(answer, kNow);
  EXPECT_EQ(left_->channel().peer_epoch(), 7u);
  EXPECT_EQ(left_->restarts_seen, 0u);
  right_->receive_all(left_->transmit(kNow), kNow);
  EXPECT_EQ(right_->delivered, numbers(0, 2)) << "sent again at once, without waiting for a timer";
  EXPECT_EQ(left_->counters().timeouts, 0u);
}

// What has waited for a task that was not there yet, or had died before it took anything.
TEST_F(ChannelEpochsTest, WhatWaitsHasTheWholeTimeOutFromTheFirstAnswerOn) {
  constexpr Nanoseconds kLater = kNow + 9 * kSecond;
  start_left(1);
  left_->send(0);
  left_->transmit(kNow);
  EXPECT_EQ(left_->channel().waiting_since(), kNow);
  start_right(7);
  right_->receive_all(left_->transmit(kLater), kLater);
  left_->channel().run_timers(kLater);
  right_->receive_all(left_->transmit(kLater), kLater);
  left_->receive_all(right_->transmit(kLater), kLater);
  EXPECT_EQ(left_->channel().peer_epoch(), 7u);
  EXPECT_EQ(left_->channel().waiting_since(), kLater);
}

TEST_F(ChannelEpochsTest, KnownEpochSavesTheRoundTrip) {
  start_left(1, 7);
  start_right(7);
  left_->send(0);
  left_->send(1);
  right_->receive_all(left_->transmit(kNow), kNow);
  EXPECT_EQ(right_->delivered, numbers(0, 2));
  exchange();
  EXPECT_EQ(right_->delivered, numbers(0, 2));
  EXPECT_EQ(left_->counters().retransmits, 0u);
  EXPECT_EQ(right_->counters().duplicates, 0u);
}

TEST_F(ChannelEpochsTest, FirstMessagesAreForTheIncarnationWhoseEpochWasTold) {
  start_left(1, 7);
  start_right(8);  // incarnation 7 has ended before anything reached it
  left_->send(0);
  exchange();
  EXPECT_TRUE(right_->delivered.empty());
  EXPECT_EQ(left_->restarts_seen, 1u);
  EXPECT_EQ(left_->abandoned, numbers(0, 1));
  left_->send(1);
  exchange();
  EXPECT_EQ(right_->delivered, numbers(1, 1));
}

TEST_F(ChannelEpochsTest, NothingIsDeliveredToTwoIncarnations) {
  start_left(1);
  start_right(1);
  left_->send(0);
  right_->receive_all(left_->transmit(kNow), kNow);
  left_->receive_all(right_->transmit(kNow), kNow);
  right_->receive_all(left_->transmit(kNow), kNow);
  ASSERT_EQ(right_->delivered, numbers(0, 1));  // not acknowledged before the task dies
  start_right(2);
  for (int round = 0; round < 3; ++round) {
    const Nanoseconds now = kNow + (round + 1) * kSecond;
    left_->channel().run_timers(now);
    right_->receive_all(left_->transmit(now), now);
    left_->receive_all(right_->transmit(now), now);
  }
  EXPECT_TRUE(right_->delivered.empty());
  EXPECT_EQ(left_->abandoned, numbers(0, 1));
}

TEST_F(ChannelEpochsTest, BothSendAtOnceOnFirstContact) {
  start_left(3);
  start_right(9);
  left_->send(0);
  right_->send(10);
  const auto from_left = left_->transmit(kNow);
  const auto from_right = right_->transmit(kNow);
  right_->receive_all(from_left, kNow);
  left_->receive_all(from_right, kNow);
  exchange();
  EXPECT_EQ(right_->delivered, numbers(0, 1));
  EXPECT_EQ(left_->delivered, numbers(10, 1));
}

TEST_F(ChannelEpochsTest, RestartedReceiverMakesTheSenderAbandon) {
  start_left(1);
  start_right(1);
  left_->send(0);
  exchange();
  left_->send(1);
  left_->send(2);
  const auto unanswered = left_->transmit(kNow);
  right_->receive_all(unanswered, kNow);  // delivered, but the answer is lost with the task
  start_right(2);
  right_->context().ack_threshold = 1;
  right_->receive_all(unanswered, kNow);  // late copies
  EXPECT_TRUE(right_->delivered.empty());
  EXPECT_EQ(right_->counters().ghosts, 2u);
  left_->receive_all(right_->transmit(kNow), kNow);
  EXPECT_EQ(left_->restarts_seen, 1u);
  EXPECT_EQ(left_->abandoned, numbers(1, 2));
  EXPECT_EQ(left_->channel().peer_epoch(), 2u);
  left_->send(3);
  exchange();
  EXPECT_EQ(right_->delivered, numbers(3, 1));
  EXPECT_EQ(left_->acknowledged, (std::vector<std::uint64_t>{0, 3}));
}

TEST_F(ChannelEpochsTest, RestartedSenderBeginsAnewAndItsOldPacketsAreGhosts) {
  start_left(1);
  start_right(1);
  left_->send(0);
  exchange();
  left_->send(1);
  left_->send(2);
  const auto late = left_->transmit(kNow);
  right_->receive(late[1], kNow);  // held: 1 is missing
  EXPECT_EQ(right_->pool().in_use(), 1u);
  start_left(2);
  left_->send(20);
  exchange();
  EXPECT_EQ(right_->restarts_seen, 1u);
  EXPECT_EQ(right_->delivered, (std::vector<std::uint64_t>{0, 20}));
  EXPECT_EQ(right_->pool().in_use(), 0u);
  right_->receive_all(late, kNow);
  EXPECT_EQ(right_->delivered.size(), 2u);
  EXPECT_EQ(right_->counters().ghosts, 2u);
  EXPECT_EQ(right_->channel().peer_epoch(), 2u);
}

TEST_F(ChannelEpochsTest, RestartOfBothSides) {
  start_left(1);
  start_right(1);
  left_->send(0);
  right_->send(10);
  exchange();
  start_left(2);
  start_right(2);
  left_->send(1);
  right_->send(11);
  exchange();
  EXPECT_EQ(left_->delivered, numbers(11, 1));
  EXPECT_EQ(right_->delivered, numbers(1, 1));
}

TEST_F(ChannelEpochsTest, LatePacketForAFormerIncarnationTeachesNothing) {
  start_left(1);
  start_right(1);
  left_->send(0);
  right_->send(10);
  exchange();
  right_->send(11);
  const auto late = right_->transmit(kNow);  // from incarnation 1 to incarnation 1
  start_left(2);
  start_right(2);
  left_->receive_all(late, kNow);
  EXPECT_EQ(left_->channel().peer_epoch(), 0u);
  EXPECT_EQ(left_->counters().ghosts, 1u);
  left_->send(1);
  exchange();
  EXPECT_EQ(right_->delivered, numbers(1, 1));
  EXPECT_EQ(left_->restarts_seen, 0u);
  EXPECT_TRUE(left_->abandoned.empty());
}

TEST_F(ChannelEpochsTest, LostIntroductionIsRepeated) {
  start_left(1);
  start_right(4);
  left_->send(0);
  right_->receive_all(left_->transmit(kNow), kNow);
  right_->transmit(kNow);  // lost
  const Nanoseconds later = left_->channel().next_deadline();
  ASSERT_NE(later, UINT64_MAX);
  left_->channel().run_timers(later);
  right_->receive_all(left_->transmit(later), later);
  left_->receive_all(right_->transmit(later), later);
  right_->receive_all(left_->transmit(later), later);
  EXPECT_EQ(right_->delivered, numbers(0, 1));
}

// Who was known under a later epoch. `told`: it has the left one's epoch with the address.
class EarlierClockTest : public ChannelEpochsTest, public testing::WithParamInterface<std::tuple<bool, bool>> {
 protected:
  void restart_right(Epoch incarnation) {
    const auto [told, left_sends] = GetParam();
    const ChannelEpochs epochs{0, told ? incarnation_number(3) : 0};
    right_ =
        std::make_unique<ChannelEnd>(EndConfig{.self = 1, .epoch = incarnation_number(incarnation), .epochs = epochs});
  }
  static Epoch incarnation_number(Epoch number) { return number << kBeginningBits; }
};

TEST_P(EarlierClockTest, TheNewIncarnationLearnsThatItNeedsALaterEpoch) {
  const bool left_sends = std::get<1>(GetParam());
  start_left(incarnation_number(3));
  restart_right(20);
  left_->send(0);
  right_->send(10);
  exchange();
  right_->send(11);
  const auto late = right_->transmit(kNow);
  restart_right(10);
  if (left_sends) left_->send(1);
  right_->send(12);
  exchange();
  right_->channel().run_timers(kNow + kSecond);
  exchange();
  EXPECT_EQ(left_->restarts_seen, 1u);
  EXPECT_EQ(right_->restarts_seen, 0u);
  left_->receive_all(late, kNow);
  left_->send(2);
  right_->send(13);
  exchange();
  EXPECT_EQ(left_->delivered, (std::vector<std::uint64_t>{10, 12, 13}));
  EXPECT_EQ(right_->delivered, numbers(2, 1));
  EXPECT_EQ(left_->abandoned, numbers(1, left_sends ? 1 : 0)) << "it was for the former incarnation";
  EXPECT_TRUE(right_->abandoned.empty());
}

TEST_P(EarlierClockTest, AlsoWhenTheFormerIncarnationWasGivenUp) {
  start_left(incarnation_number(3));
  restart_right(20);
  left_->send(0);
  right_->send(10);
  exchange();
  left_->channel().begin_anew();
  restart_right(10);
  if (std::get<1>(GetParam())) left_->send(1);
  right_->send(12);
  exchange();
  right_->channel().run_timers(kNow + kSecond);
  exchange();
  left_->send(2);
  exchange();
  EXPECT_EQ(left_->delivered, (std::vector<std::uint64_t>{10, 12}));
  EXPECT_EQ(right_->delivered, numbers(2, 1));
  EXPECT_TRUE(right_->abandoned.empty());
}

INSTANTIATE_TEST_SUITE_P(Orders, EarlierClockTest, testing::Combine(testing::Bool(), testing::Bool()));

TEST_F(ChannelEpochsTest, TheEpochAfterTheLastOneIsNeverNone) {
  start_left(Epoch{3} << kBeginningBits);
  start_right(kLastEpoch);
  left_->send(0);
  exchange();
  start_right(kLastEpoch - (Epoch{5} << kBeginningBits));
  right_->send(10);
  exchange();
  EXPECT_EQ(left_->delivered, numbers(10, 1));
  EXPECT_EQ(left_->channel().peer_epoch(), Epoch{1} << kBeginningBits);
}

TEST_F(ChannelEpochsTest, EpochsWrapRound) {
  start_left(1);
  start_right(kLastEpoch);
  left_->send(0);
  exchange();
  EXPECT_EQ(left_->channel().peer_epoch(), kLastEpoch);
  start_right(1);
  left_->send(1);
  exchange();
  EXPECT_EQ(left_->restarts_seen, 1u);
  EXPECT_EQ(left_->channel().peer_epoch(), 1u);
}

}  // namespace
}  // namespace openlapi
