// What a path is found to bring, from acknowledgements.
#include <gtest/gtest.h>

#include "dataplane/reliability/delivery_rate.h"
#include "dataplane/tuning.h"

namespace openlapi {
namespace {

constexpr Nanoseconds kStep = 100 * kMicrosecond;

class DeliveryRateTest : public testing::Test {
 protected:
  DeliveryRateTest() { rate_.begin(now_); }
  // For so many steps a path that brings so much in each, which is all that was in flight before.
  void carry(std::uint64_t bytes, unsigned steps, bool limited = true) {
    for (; steps != 0; --steps) rate_.acknowledged(bytes, bytes, limited, false, now_ += kStep);
  }
  void fall_idle(std::uint64_t bytes) { rate_.acknowledged(bytes, bytes, false, true, now_ += kStep); }

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
  EXPECT_TRUE(rate_.acknowledged(10'000, 10'000, true, true, now_ += kStep));
  EXPECT_EQ(rate_.bytes_per_second(), 100'000'000u);
}

TEST_F(DeliveryRateTest, ASampleLastsUntilAllThatWasInFlightIsAcknowledged) {
  EXPECT_FALSE(rate_.acknowledged(1000, 4000, true, false, now_ += kStep));
  EXPECT_FALSE(rate_.acknowledged(1000, 4000, true, false, now_ += kStep));
  EXPECT_FALSE(rate_.acknowledged(1000, 4000, true, false, now_ += kStep));
  EXPECT_TRUE(rate_.acknowledged(1000, 4000, true, false, now_ += kStep));
  EXPECT_EQ(rate_.bytes_per_second(), 10'000'000u);
}

TEST_F(DeliveryRateTest, SingleSamplesOfALatePeerDoNotCount) {
  carry(5000, 50);
  for (int i = 0; i < 20; ++i) {
    now_ += 10 * kStep;
    carry(5000, tuning::kRateSamples);
  }
  EXPECT_EQ(rate_.bytes_per_second(), 50'000'000u);
}

TEST_F(DeliveryRateTest, MeasuresWhatABusyPathBrings) {
  carry(5000, 50);
  EXPECT_EQ(rate_.bytes_per_second(), 50'000'000u);
  EXPECT_EQ(rate_.time_for(50'000), kMillisecond);
  EXPECT_EQ(rate_.bytes_in(kMillisecond), 50'000u);
}

TEST_F(DeliveryRateTest, FollowsAPathThatGetsFasterOrSlower) {
  carry(5000, 50);
  carry(10'000, 100);
  EXPECT_NEAR(static_cast<double>(rate_.bytes_per_second()), 100e6, 1e6);
  carry(1000, 500);
  EXPECT_NEAR(static_cast<double>(rate_.bytes_per_second()), 10e6, 1e6);
}

TEST_F(DeliveryRateTest, APathThatHasLittleToCarryIsNotSlow) {
  carry(5000, 50);
  carry(50, 100, false);
  EXPECT_EQ(rate_.bytes_per_second(), 50'000'000u);
  carry(10'000, 100, false);
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

TEST_F(DeliveryRateTest, ALongQueueTellsThatItIsLess) {
  carry(50'000, 50);
  rate_.queued(500'000, 100 * kMillisecond);
  EXPECT_NEAR(static_cast<double>(rate_.bytes_per_second()), 6.25e6, 10) << "a quarter more than five a second";
  rate_.queued(500'000, kMillisecond);
  EXPECT_NEAR(static_cast<double>(rate_.bytes_per_second()), 6.25e6, 10) << "it never makes it more";
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

TEST_F(DeliveryRateTest, IsNeverZeroAgain) {
  carry(5000, 50);
  carry(0, 10'000);
  EXPECT_GT(rate_.bytes_per_second(), 0u);
}

}  // namespace
}  // namespace openlapi
