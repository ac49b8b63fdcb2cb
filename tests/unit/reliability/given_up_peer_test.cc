// A peer that was silent for too long is given up. It may only have been stopped: then it learns that, and the two go
// on with each other; a new incarnation of it is troubled by nothing of this.
#include <gtest/gtest.h>

#include <memory>

#include "tests/unit/reliability/channel_end.h"

namespace openlapi {
namespace {

constexpr Nanoseconds kNow = kSecond;
constexpr Epoch kFirst = Epoch{1} << kBeginningBits, kSecondIncarnation = Epoch{2} << kBeginningBits;

class GivenUpPeerTest : public testing::Test {
 protected:
  GivenUpPeerTest() {
    start_right(kFirst);
    left_.send(0);
    right_->send(10);
    exchange();
  }

  // `told`: it knows the left one's epoch from its address.
  void start_right(Epoch epoch, bool told = true) {
    right_ = std::make_unique<ChannelEnd>(EndConfig{.self = 1, .epoch = epoch, .epochs = {0, told ? kFirst : 0}});
  }

  static void give_up(ChannelEnd& end) {
    end.channel().begin_anew();
    end.note_completed();
  }

  void exchange() {
    for (int round = 0; round < 10; ++round) {
      right_->receive_all(left_.transmit(kNow), kNow);
      left_.receive_all(right_->transmit(kNow), kNow);
    }
  }

  void expect_delivered(std::vector<std::uint64_t> left, std::vector<std::uint64_t> right) {
    EXPECT_EQ(left_.delivered, left);
    EXPECT_EQ(right_->delivered, right);
  }

  ChannelEnd left_{EndConfig{.self = 0, .epoch = kFirst, .epochs = {0, kFirst}}};
  std::unique_ptr<ChannelEnd> right_;
};

TEST_F(GivenUpPeerTest, LearnsItWithWhatItSendsNext) {
  left_.send(1);
  right_->send(11);
  const auto late = right_->transmit(kNow);
  give_up(left_);
  EXPECT_EQ(left_.abandoned, numbers(1, 1));
  left_.receive_all(late, kNow);
  right_->receive_all(left_.transmit(kNow), kNow);
  EXPECT_EQ(right_->restarts_seen, 1u);
  EXPECT_EQ(right_->times_given_up, 1u);
  EXPECT_EQ(right_->abandoned, numbers(10, 2)) << "the first one had arrived, but its acknowledgement was not due";
  right_->send(12);
  left_.send(2);
  exchange();
  expect_delivered({10, 12}, {0, 2});
  EXPECT_EQ(left_.restarts_seen, 0u);
  EXPECT_EQ(right_->restarts_seen, 1u);
}

TEST_F(GivenUpPeerTest, LearnsItWhenItIsSentSomething) {
  give_up(left_);
  left_.send(1);
  exchange();
  EXPECT_EQ(right_->restarts_seen, 1u);
  right_->send(11);
  exchange();
  expect_delivered({10, 11}, {0, 1});
}

TEST_F(GivenUpPeerTest, MayBeGivenUpAgainAndAgain) {
  constexpr std::uint64_t kTimes = (1u << kBeginningBits) - 1;
  for (std::uint64_t i = 1; i <= kTimes; ++i) {
    ASSERT_TRUE(left_.channel().may_begin_anew());
    give_up(left_);
    left_.send(i);
    exchange();
    right_->send(10 + i);
    exchange();
  }
  expect_delivered(numbers(10, kTimes + 1), numbers(0, kTimes + 1));
  EXPECT_EQ(right_->restarts_seen, kTimes);
  EXPECT_FALSE(left_.channel().may_begin_anew()) << "this was the last number of this incarnation";
  start_right(kSecondIncarnation);
  right_->send(0);
  exchange();
  EXPECT_TRUE(left_.channel().may_begin_anew()) << "another incarnation of the peer";
}

TEST_F(GivenUpPeerTest, BothGiveEachOtherUp) {
  give_up(left_);
  give_up(*right_);
  left_.send(1);
  right_->send(11);
  // What both send first crosses.
  const auto first = left_.transmit(kNow), second = right_->transmit(kNow);
  right_->receive_all(first, kNow);
  left_.receive_all(second, kNow);
  exchange();
  expect_delivered({10, 11}, {0, 1});
  EXPECT_EQ(left_.restarts_seen + right_->restarts_seen, 0u);
}

// Who sends first, and whether the new incarnation was told an epoch with the address: then it is the first one.
class NewIncarnationTest : public GivenUpPeerTest, public testing::WithParamInterface<std::tuple<bool, bool, bool>> {};

TEST_P(NewIncarnationTest, LosesNothingWhereItsFormerOneWasGivenUp) {
  const auto [told, left_sends, right_sends] = GetParam();
  right_->send(11);
  const auto late = right_->transmit(kNow);
  give_up(left_);
  start_right(kSecondIncarnation, told);
  left_.send(1);
  right_->send(12);
  const auto from_left = left_.transmit(kNow), from_right = right_->transmit(kNow);
  if (left_sends) right_->receive_all(from_left, kNow);
  if (right_sends) left_.receive_all(from_right, kNow);
  left_.channel().run_timers(kNow + kSecond);
  right_->channel().run_timers(kNow + kSecond);
  exchange();
  left_.receive_all(late, kNow);
  left_.send(2);
  exchange();
  expect_delivered({10, 12}, {2});
  EXPECT_EQ(left_.abandoned, numbers(1, 1)) << "it was for the former incarnation";
  EXPECT_EQ(left_.restarts_seen, 1u);
  EXPECT_EQ(left_.times_given_up, 0u) << "it is a new process";
  EXPECT_EQ(right_->restarts_seen, 0u);
}

INSTANTIATE_TEST_SUITE_P(Orders, NewIncarnationTest,
                         testing::Combine(testing::Bool(), testing::Bool(), testing::Bool()));

// The one that was given up is stopped all that time, and its place is taken.
TEST_F(GivenUpPeerTest, WhatItStillSendsFindsNobodyOnceItsPlaceIsTaken) {
  right_->send(11);
  const auto late = right_->transmit(kNow);
  give_up(left_);
  const std::unique_ptr<ChannelEnd> former = std::move(right_);
  start_right(kSecondIncarnation);
  right_->send(12);
  exchange();
  former->send(13);
  left_.receive_all(late, kNow);
  left_.receive_all(former->transmit(kNow), kNow);
  // It sees that it has a later incarnation, and does not make itself a still later one.
  former->receive_all(left_.transmit(kNow), kNow);
  former->channel().run_timers(kNow + kSecond);
  left_.receive_all(former->transmit(kNow), kNow);
  give_up(left_);
  left_.receive_all(late, kNow);
  expect_delivered({10, 12}, {});
}

}  // namespace
}  // namespace openlapi
