// How the paths of a channel share what is to be sent.
#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "dataplane/reliability/path_state.h"

namespace openlapi {
namespace {

constexpr std::uint32_t kPacket = 1000;
constexpr std::uint64_t kMost = 1024 * 1024;

class PathSharesTest : public testing::Test, private PathTimings {
 protected:
  PathSharesTest() {
    states_.add();
    states_.add();
    for (int i = 0; i < 2; ++i) window_.add_path();
  }
  // The path is known to bring so much in the time for which it may have packets in flight.
  void measure(unsigned path, std::uint64_t bytes) {
    states_[path].rate.begin(kSecond);
    states_[path].rate.acknowledged({bytes, bytes, true, true, kSecond}, kSecond + tuning::kPathQueue);
  }
  // Sends over the path and leaves it in flight.
  void put_in_flight(unsigned path, unsigned packets) {
    for (; packets != 0; --packets) {
      window_.add(pool_.take(), kPacket, nullptr, 0, 0);
      std::array<Transmission, 1> burst;
      ASSERT_EQ(window_.collect(UINT64_MAX, burst, path), 1u);
      window_.transmitted(burst, 0, path);
    }
  }
  // All packets before this one.
  void acknowledge(Sequence cumulative, Nanoseconds now) {
    ASSERT_TRUE(window_.acknowledge(cumulative, 0, {}, {.now = now, .paths = *this}).advanced);
    states_.measure_rates(window_, now);
  }
  PathTiming timing_of(unsigned path) const override { return states_[path].timing(); }
  unsigned earliest(std::uint32_t without = 0) const { return states_.earliest(window_, without); }

  PathStates states_{kPacket, kMost};
  PacketPool pool_{1024, 2048};
  SendWindow window_{pool_};
};

TEST_F(PathSharesTest, OnePathHasItsWindow) {
  EXPECT_FALSE(states_.are_several());
  EXPECT_EQ(states_.window(1), tuning::kFirstBytesInFlight);
  EXPECT_EQ(states_.room(), tuning::kFirstBytesInFlight);
  states_.serve(0b010, 1);
  EXPECT_FALSE(states_.are_several());
  EXPECT_EQ(states_.room(), tuning::kFirstBytesInFlight);
}

TEST_F(PathSharesTest, UnknownPathsGetLittle) {
  states_.serve(0b011, 0);
  EXPECT_EQ(states_.window(0), tuning::kStripeFrom) << "of the best one as much as short messages need";
  EXPECT_EQ(states_.window(1), tuning::kUnknownPathQueue);
  EXPECT_EQ(states_.room(), tuning::kStripeFrom + tuning::kUnknownPathQueue);
}

TEST_F(PathSharesTest, SharesFollowTheRates) {
  measure(0, 100'000);
  measure(1, 10'000);
  measure(2, 10);
  states_.serve(0b111, 0);
  EXPECT_EQ(states_.window(0), 100'000u);
  EXPECT_EQ(states_.window(1), 10'000u);
  EXPECT_EQ(states_.window(2), 2 * kPacket) << "never less than two packets";
  EXPECT_EQ(states_.room(), 112'000u);
}

TEST_F(PathSharesTest, NoShareIsLargerThanTheCongestionWindow) {
  measure(0, 100 * kMost);
  states_.serve(0b011, 0);
  EXPECT_EQ(states_.window(0), tuning::kFirstBytesInFlight);
}

TEST_F(PathSharesTest, TheBestOneIsTakenWhileLittleIsInFlight) {
  measure(0, 40'000);
  measure(1, 400'000);
  states_.serve(0b011, 0);
  EXPECT_EQ(earliest(), 0u);
  put_in_flight(0, 32);
  EXPECT_EQ(earliest(), 0u);
  put_in_flight(0, 1);
  EXPECT_EQ(earliest(), 1u);
}

TEST_F(PathSharesTest, ThenTheOneThatBringsAPacketFirst) {
  measure(0, 100'000);
  measure(1, 50'000);
  states_.serve(0b011, 0);
  put_in_flight(0, 40);
  EXPECT_EQ(earliest(), 1u);
  put_in_flight(1, 19);
  EXPECT_EQ(earliest(), 1u) << "a little earlier than over the first";
  put_in_flight(1, 1);
  EXPECT_EQ(earliest(), 0u) << "and then over that one";
}

TEST_F(PathSharesTest, FullPathsAreLeftOut) {
  measure(0, 100'000);
  measure(1, 10'000);
  states_.serve(0b011, 0);
  put_in_flight(0, 100);
  EXPECT_EQ(earliest(), 1u);
  EXPECT_EQ(earliest(0b010), PathStates::kNone);
  put_in_flight(1, 10);
  EXPECT_EQ(earliest(), PathStates::kNone);
}

TEST_F(PathSharesTest, AFullPathThatWasNotMeasuredIsNotWaitedFor) {
  measure(0, 100'000);
  states_.serve(0b011, 0);
  put_in_flight(0, 40);
  EXPECT_EQ(earliest(), 1u);
  put_in_flight(1, tuning::kUnknownPathQueue / kPacket + 1);
  EXPECT_EQ(earliest(), 0u);
}

TEST_F(PathSharesTest, APathThatDoesNotServeIsNotTaken) {
  measure(0, 100'000);
  measure(1, 100'000);
  measure(2, 100'000);
  states_.serve(0b101, 0);
  put_in_flight(0, 50);
  EXPECT_EQ(earliest(), 2u);
}

TEST_F(PathSharesTest, TheQuickestOneHasAGoodDealShorterRoundTrips) {
  states_.serve(0b111, 0);
  EXPECT_EQ(states_.quickest(), 0u);
  states_[0].round_trip.sample(100 * kMicrosecond);
  states_[1].round_trip.sample(80 * kMicrosecond);
  EXPECT_EQ(states_.quickest(), 0u);
  states_[2].round_trip.sample(70 * kMicrosecond);
  EXPECT_EQ(states_.quickest(), 2u);
  states_.serve(0b011, 0);
  EXPECT_EQ(states_.quickest(), 0u);
}

TEST_F(PathSharesTest, APathThatNobodyUsesIsMeasuredAnewInTime) {
  measure(0, 100'000);
  measure(1, 1'000);
  states_.serve(0b011, 0);
  const Nanoseconds measured = kSecond + tuning::kPathQueue;
  const Nanoseconds later = measured + tuning::kFirstRateTrust * states_[1].rate.time_for(tuning::kUnknownPathQueue);
  states_.measure_rates(window_, later + kSecond);
  EXPECT_NE(states_[1].rate.bytes_per_second(), 0u) << "nothing is to be sent";
  put_in_flight(0, 40);
  states_.measure_rates(window_, later);
  EXPECT_NE(states_[1].rate.bytes_per_second(), 0u);
  states_.measure_rates(window_, later + kMillisecond);
  EXPECT_EQ(states_[1].rate.bytes_per_second(), 0u);
  EXPECT_NE(states_[0].rate.bytes_per_second(), 0u) << "it is used";
}

TEST_F(PathSharesTest, WhatIsAcknowledgedTogetherIsInFlightBesides) {
  measure(0, 50'000);
  states_.serve(0b011, 0);
  EXPECT_EQ(states_.window(0), 50'000u);
  states_[0].gathered.acknowledged(20'000, states_[0].rate, 2 * kSecond);
  states_.share_out();
  EXPECT_EQ(states_.window(0), 70'000u);
}

// Nobody waits for it: it is soon empty, and would seem to be the first.
TEST_F(PathSharesTest, APathWhoseShortestRoundTripIsLookedForGetsLittle) {
  measure(0, 80'000);
  measure(1, 80'000);
  for (const auto& [round_trip, now] : {std::pair{kMillisecond, kSecond}, {9 * kMillisecond, 3 * kSecond}}) {
    states_[1].round_trip.sample(round_trip);
    states_[1].shortest_round_trip.sampled(states_[1].round_trip, round_trip, now);
  }
  states_.serve(0b011, 0);
  EXPECT_EQ(states_.window(1), 10'000u);
  put_in_flight(1, 10);
  put_in_flight(0, 40);
  EXPECT_EQ(earliest(), 0u);
}

TEST_F(PathSharesTest, FasterPathsGetMoreInTurn) {
  const auto packets_in_stripe_time = [](std::uint64_t packets) {
    return packets * kPacket * tuning::kPathQueue / tuning::kStripeTime;
  };
  measure(0, packets_in_stripe_time(1));
  measure(1, packets_in_stripe_time(20));
  measure(2, packets_in_stripe_time(1000));
  put_in_flight(0, tuning::kStripeFrom / kPacket + 1);
  EXPECT_EQ(states_.packets_in_turn(0, window_), 2u);
  EXPECT_EQ(states_.packets_in_turn(1, window_), 20u);
  EXPECT_EQ(states_.packets_in_turn(2, window_), tuning::kSendBurst);
}

TEST_F(PathSharesTest, WhatLeavesOverOnePathAnywayTakesNoTurns) {
  measure(0, kPacket);
  put_in_flight(0, 2);
  EXPECT_EQ(states_.packets_in_turn(0, window_), tuning::kSendBurst);
}

// Its bytes in its round trip are no rate, however short that is.
TEST_F(PathSharesTest, APacketAloneIsNoSampleOfTheRate) {
  measure(0, 1000);
  const std::uint64_t before = states_[0].rate.bytes_per_second();
  states_.departs(0, window_, 2 * kSecond);
  put_in_flight(0, 1);
  acknowledge(1, 2 * kSecond + kMicrosecond);
  EXPECT_EQ(states_[0].rate.bytes_per_second(), before);
  EXPECT_EQ(states_[0].gathered.most(), 0u);
}

TEST_F(PathSharesTest, APacketAloneShowsThatARateIsNotOld) {
  measure(0, 100'000);
  measure(1, 1000);
  states_.serve(0b011, 0);
  const Nanoseconds later = 1000 * kSecond;
  states_.departs(1, window_, later - kMillisecond);
  put_in_flight(1, 1);
  acknowledge(1, later);
  put_in_flight(0, tuning::kStripeFrom / kPacket + 3);
  acknowledge(2, later + kMillisecond);
  EXPECT_NE(states_[1].rate.bytes_per_second(), 0u);
  acknowledge(3, 2 * later);
  EXPECT_EQ(states_[1].rate.bytes_per_second(), 0u);
}

TEST_F(PathSharesTest, ASampleThatHasBegunEndsWithItsLastPacketAlone) {
  states_.serve(0b011, 0);
  states_.departs(0, window_, kSecond);
  put_in_flight(0, 40);
  acknowledge(39, kSecond + kMillisecond);
  EXPECT_EQ(states_[0].rate.bytes_per_second(), 0u);
  acknowledge(40, kSecond + 2 * kMillisecond);
  EXPECT_EQ(states_[0].rate.bytes_per_second(), 40 * kPacket * (kSecond / (2 * kMillisecond)));
}

}  // namespace
}  // namespace openlapi
