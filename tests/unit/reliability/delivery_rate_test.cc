// What a path is found to bring, from acknowledgements.
#include <gtest/gtest.h>

#include "dataplane/reliability/delivery_rate.h"
#include "dataplane/reliability/gathered_answers.h"
#include "dataplane/tuning.h"

namespace openlapi {
namespace {

constexpr Nanoseconds kStep = 100 * kMicrosecond;

class DeliveryRateTest : public testing::Test {
 protected:
  static constexpr Nanoseconds kLongest = 20 * kMillisecond;

  DeliveryRateTest() { rate_.begin(now_); }
  bool acknowledge(std::uint64_t bytes, std::uint64_t in_flight, bool limited = true, bool idle = false) {
    return rate_.acknowledged({bytes, in_flight, limited, idle, kLongest}, now_ += kStep);
  }
  // For so many steps a path that brings so much in each, which is all that was in flight before.
  void carry(std::uint64_t bytes, unsigned steps, bool limited = true) {
    for (; steps != 0; --steps) acknowledge(bytes, bytes, limited);
  }
  void fall_idle(std::uint64_t bytes) { acknowledge(bytes, bytes, false, true); }

  DeliveryRate rate_;
  Nanoseconds now_ = kSecond;
};

TEST_F(DeliveryRateTest, NothingIsKnownAtFirst) {
  EXPECT_EQ(rate_.bytes_per_second(), 0u);
  EXPECT_EQ(rate_.time_for(1'000'000), 0u);
  EXPECT_EQ(rate_.bytes_in(kMillisecond), 0u);
}

// As over a fast network, where a round trip is over before more leaves.
TEST_F(DeliveryRateTest, OneAnswerToAllThatWasInFlightTells) {
  EXPECT_TRUE(acknowledge(10'000, 10'000, true, true));
  EXPECT_EQ(rate_.bytes_per_second(), 100'000'000u);
}

TEST_F(DeliveryRateTest, ASampleLastsUntilAllThatWasInFlightIsAcknowledged) {
  EXPECT_FALSE(acknowledge(1000, 4000));
  EXPECT_FALSE(acknowledge(1000, 4000));
  EXPECT_FALSE(acknowledge(1000, 4000));
  EXPECT_TRUE(acknowledge(1000, 4000));
  EXPECT_EQ(rate_.bytes_per_second(), 10'000'000u);
}

TEST_F(DeliveryRateTest, ALongSampleEndsBeforeAllIsAcknowledged) {
  now_ += kLongest;
  EXPECT_TRUE(acknowledge(100'500, 1'000'000, false));
  EXPECT_NEAR(static_cast<double>(rate_.bytes_per_second()), 5e6, 1e5);
}

TEST_F(DeliveryRateTest, ALateAnswerToAShortMessageTellsNothing) {
  for (const std::uint64_t before : {std::uint64_t{0}, std::uint64_t{50'000'000}}) {
    if (before != 0) carry(5000, 50);
    rate_.begin(now_);
    now_ += 2 * kLongest;
    EXPECT_FALSE(acknowledge(100, 100, false, true));
    EXPECT_EQ(rate_.bytes_per_second(), before);
  }
}

// Tokens that a shaped link has to spend after a pause.
TEST_F(DeliveryRateTest, ShortSamplesCountLittleBesideLongOnes) {
  for (int message = 0; message != 50; ++message) {
    rate_.begin(now_ += kSecond);
    acknowledge(100'000, 100'000);
    now_ += 9 * kStep;
    acknowledge(50'000, 50'000);
  }
  EXPECT_NEAR(static_cast<double>(rate_.bytes_per_second()), 150'000 / 1.1e-3, 3e6);
}

TEST_F(DeliveryRateTest, WhatWasGivenUpTellsNothingWhenItArrives) {
  carry(5000, 50);
  rate_.stop();
  EXPECT_FALSE(acknowledge(5000, 0));
  EXPECT_FALSE(acknowledge(5000, 5000));
  EXPECT_EQ(rate_.bytes_per_second(), 50'000'000u);
  DeliveryRate other;
  EXPECT_FALSE(other.acknowledged({5000, 0, true, true, kLongest}, now_));
  EXPECT_EQ(other.bytes_per_second(), 0u);
}

TEST_F(DeliveryRateTest, MeasuresWhatABusyPathBrings) {
  carry(5000, 50);
  EXPECT_EQ(rate_.bytes_per_second(), 50'000'000u);
  EXPECT_EQ(rate_.time_for(50'000), kMillisecond);
  EXPECT_EQ(rate_.bytes_in(kMillisecond), 50'000u);
}

TEST_F(DeliveryRateTest, FollowsAPathThatGetsFasterOrSlower) {
  carry(5000, 50);
  carry(10'000, 5000);
  EXPECT_NEAR(static_cast<double>(rate_.bytes_per_second()), 100e6, 1e6);
  carry(1000, 5000);
  EXPECT_NEAR(static_cast<double>(rate_.bytes_per_second()), 10e6, 1e6);
}

TEST_F(DeliveryRateTest, APathThatHasLittleToCarryIsNotSlow) {
  carry(5000, 50);
  carry(50, 100, false);
  EXPECT_EQ(rate_.bytes_per_second(), 50'000'000u);
  carry(10'000, 5000, false);
  EXPECT_GT(rate_.bytes_per_second(), 90'000'000u) << "what it has brought it can bring";
}

TEST_F(DeliveryRateTest, IdleTimeIsNoPartOfIt) {
  carry(5000, 50);
  for (int i = 0; i < 100; ++i) {
    fall_idle(5000);
    rate_.begin(now_ += kSecond);
    carry(5000, 10);
  }
  EXPECT_EQ(rate_.bytes_per_second(), 50'000'000u);
}

TEST_F(DeliveryRateTest, OnlyABusyPathTellsTheFirstTime) {
  carry(5000, 50, false);
  EXPECT_EQ(rate_.bytes_per_second(), 0u);
}

TEST_F(DeliveryRateTest, AnOldRateIsForgotten) {
  carry(5000, 50);
  rate_.forget_if_old(5000, now_ + tuning::kShortestRateAge / 2);
  EXPECT_NE(rate_.bytes_per_second(), 0u);
  rate_.forget_if_old(5000, now_ + tuning::kShortestRateAge + kMillisecond);
  EXPECT_EQ(rate_.bytes_per_second(), 0u);
}

// As of a peer that computes for 20 ms between its calls.
TEST_F(DeliveryRateTest, WhatIsAcknowledgedTogetherIsKnownForAWhile) {
  GatheredAnswers gathered;
  carry(5000, 50);
  const auto answer_steadily = [&](Nanoseconds time) {
    for (const Nanoseconds end = now_ + time; now_ < end;) gathered.acknowledged(5000, rate_, now_ += kStep);
  };
  answer_steadily(kSecond);
  EXPECT_LE(gathered.most(), 10'000u);
  EXPECT_TRUE(gathered.acknowledged(600'000, rate_, now_ += 20 * kMillisecond));
  EXPECT_TRUE(gathered.acknowledged(400'000, rate_, now_ += kStep));
  EXPECT_EQ(gathered.most(), 1'000'000u - 6250) << "but for what the path brings in that step";
  answer_steadily(tuning::kAnswersMemory / 2);
  EXPECT_EQ(gathered.most(), 1'000'000u - 6250);
  answer_steadily(2 * tuning::kAnswersMemory);
  EXPECT_LE(gathered.most(), 10'000u);
}

TEST_F(DeliveryRateTest, NothingIsEarlyWhileNothingIsKnownOfTheRate) {
  GatheredAnswers gathered;
  for (int n = 0; n != 1000; ++n) gathered.acknowledged(10'000, rate_, now_ += kStep);
  EXPECT_EQ(gathered.most(), 0u);
  carry(5000, 50);
  gathered.acknowledged(5000, rate_, now_ += kStep);
  EXPECT_LE(gathered.most(), 10'000u);
}

TEST_F(DeliveryRateTest, IsNeverZeroAgain) {
  carry(5000, 50);
  carry(0, 10'000);
  EXPECT_GT(rate_.bytes_per_second(), 0u);
}

}  // namespace
}  // namespace openlapi
