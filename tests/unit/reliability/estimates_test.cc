// The pieces that a channel is made of and that need no packet: numbers, round trips, congestion, buffers.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "dataplane/reliability/congestion.h"
#include "dataplane/reliability/packet_pool.h"
#include "dataplane/reliability/round_trip.h"
#include "dataplane/reliability/sequence.h"
#include "dataplane/reliability/shortest_round_trip.h"

namespace openlapi {
namespace {

TEST(Sequence, OrderHoldsAcrossTheWrap) {
  EXPECT_TRUE(before(1, 2));
  EXPECT_FALSE(before(2, 1));
  EXPECT_FALSE(before(5, 5));
  EXPECT_TRUE(not_after(5, 5));
  EXPECT_TRUE(before(UINT32_MAX, 0));
  EXPECT_TRUE(before(UINT32_MAX - 10, 10));
  EXPECT_FALSE(before(10, UINT32_MAX - 10));
  EXPECT_EQ(distance(UINT32_MAX, 4), 5);
  EXPECT_EQ(distance(4, UINT32_MAX), -5);
  EXPECT_TRUE(before(0, INT32_MAX));
}

TEST(RoundTrip, StartsWithTheFirstTimeout) {
  const RoundTrip estimate;
  EXPECT_EQ(estimate.timeout(), tuning::kFirstRetransmitTimeout);
  EXPECT_EQ(estimate.smoothed(), 0u);
}

TEST(RoundTrip, FollowsSteadyMeasurements) {
  RoundTrip estimate;
  for (int i = 0; i < 100; ++i) estimate.sample(20 * kMillisecond);
  EXPECT_EQ(estimate.smoothed(), 20 * kMillisecond);
  EXPECT_EQ(estimate.shortest(), 20 * kMillisecond);
  EXPECT_GE(estimate.timeout(), 20 * kMillisecond);
  EXPECT_LT(estimate.timeout(), 21 * kMillisecond) << "no variation is left";
}

TEST(RoundTrip, FirstMeasurementLeavesRoomForVariation) {
  RoundTrip estimate;
  estimate.sample(10 * kMillisecond);
  EXPECT_EQ(estimate.timeout(), 30 * kMillisecond);  // RFC 6298: R + 4 R/2
}

TEST(RoundTrip, TimeoutStaysInItsBounds) {
  RoundTrip estimate;
  for (int i = 0; i < 50; ++i) estimate.sample(5 * kMicrosecond);
  EXPECT_EQ(estimate.timeout(), tuning::kShortestRetransmitTimeout);
  for (int i = 0; i < 50; ++i) estimate.sample(10 * kSecond);
  EXPECT_EQ(estimate.timeout(), tuning::kLongestRetransmitTimeout);
  EXPECT_EQ(estimate.shortest(), 5 * kMicrosecond);
}

TEST(RoundTrip, FollowsChangesAsItShould) {
  RoundTrip estimate;
  estimate.sample(16 * kMillisecond);
  estimate.sample(24 * kMillisecond);  // RFC 6298: variation (3 * 8 + 8) / 4, round trip (7 * 16 + 24) / 8
  EXPECT_EQ(estimate.smoothed(), 17 * kMillisecond);
  EXPECT_EQ(estimate.timeout(), (17 + 4 * 8) * kMillisecond);
  EXPECT_EQ(estimate.reorder_time(), 17 * kMillisecond / 4);
  EXPECT_EQ(estimate.patience(), estimate.smoothed() + estimate.reorder_time());
  estimate.sample(9 * kMillisecond);
  EXPECT_EQ(estimate.smoothed(), 16 * kMillisecond);
  EXPECT_EQ(estimate.timeout(), (16 + 4 * 8) * kMillisecond);
  EXPECT_EQ(estimate.shortest(), 9 * kMillisecond);
}

TEST(RoundTrip, NoMeasurementIsNothing) {
  RoundTrip estimate;
  estimate.sample(0);
  EXPECT_EQ(estimate.smoothed(), 1u) << "0 says that nothing has been measured";
  EXPECT_EQ(estimate.timeout(), tuning::kShortestRetransmitTimeout);
}

TEST(RoundTrip, BackOffDoublesUpToTheLongest) {
  RoundTrip estimate;
  estimate.sample(5 * kMicrosecond);
  Nanoseconds expected = tuning::kShortestRetransmitTimeout;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(estimate.timeout(), expected);
    estimate.back_off();
    expected = std::min(2 * expected, tuning::kLongestRetransmitTimeout);
  }
  estimate.reset_back_off();
  EXPECT_EQ(estimate.timeout(), tuning::kShortestRetransmitTimeout);
}

class ShortestRoundTripTest : public testing::Test {
 protected:
  // `delay`: how long the peer had it before it answered.
  bool measure(Nanoseconds round_trip, Nanoseconds delay = 0) {
    round_trip_.sample(round_trip);
    return shortest_.sampled(round_trip_, round_trip + delay, now_);
  }
  // It was 1 ms, and for a while none was so short.
  void begin_to_look() {
    EXPECT_FALSE(measure(kMillisecond));
    now_ += tuning::kShortestRoundTripAge - 1;
    EXPECT_FALSE(measure(10 * kMillisecond));
    EXPECT_FALSE(shortest_.is_looked_for());
    ++now_;
    EXPECT_TRUE(measure(10 * kMillisecond));
    EXPECT_TRUE(shortest_.is_looked_for());
    EXPECT_EQ(round_trip_.shortest(), kMillisecond);
  }

  RoundTrip round_trip_;
  ShortestRoundTrip shortest_;
  Nanoseconds now_ = kSecond;
};

TEST_F(ShortestRoundTripTest, WhatWasSentSinceItIsLookedForTellsIt) {
  begin_to_look();
  now_ += 5 * kMillisecond;
  EXPECT_FALSE(measure(6 * kMillisecond)) << "it was sent before";
  EXPECT_FALSE(measure(4 * kMillisecond, 2 * kMillisecond)) << "so was it, and the peer was late";
  now_ += 5 * kMillisecond;
  EXPECT_TRUE(measure(9 * kMillisecond));
  EXPECT_FALSE(shortest_.is_looked_for());
  EXPECT_EQ(round_trip_.shortest(), 9 * kMillisecond);
}

TEST_F(ShortestRoundTripTest, OneThatIsAsShortAgainEndsTheLook) {
  begin_to_look();
  EXPECT_TRUE(measure(kMillisecond + kMillisecond / 8));
  EXPECT_FALSE(shortest_.is_looked_for());
  EXPECT_EQ(round_trip_.shortest(), kMillisecond);
}

TEST_F(ShortestRoundTripTest, OneThatIsLittleLongerKeepsItYoung) {
  EXPECT_FALSE(measure(kMillisecond));
  for (int n = 0; n < 10; ++n) {
    now_ += tuning::kShortestRoundTripAge / 2;
    EXPECT_FALSE(measure(kMillisecond + kMillisecond / 8));
    EXPECT_FALSE(measure(10 * kMillisecond));
  }
}

constexpr std::uint32_t kPacket = 8192;
constexpr std::uint64_t kMost = 1024 * 1024;

TEST(Congestion, DoublesUntilTheFirstLossThenGrowsByAPacket) {
  Congestion congestion(kPacket, kMost);
  const std::uint64_t first = congestion.window();
  EXPECT_EQ(first, tuning::kFirstBytesInFlight);
  congestion.on_acknowledged(first, first);
  EXPECT_EQ(congestion.window(), 2 * first);
  congestion.on_loss();
  EXPECT_EQ(congestion.window(), first);
  congestion.on_acknowledged(first / 2, first);
  EXPECT_EQ(congestion.window(), first);
  congestion.on_acknowledged(first / 2, first);
  EXPECT_EQ(congestion.window(), first + kPacket);
  congestion.on_acknowledged(first, first + kPacket);
  EXPECT_EQ(congestion.window(), first + kPacket) << "the next step takes the larger window";
  congestion.on_acknowledged(kPacket, first + kPacket);
  EXPECT_EQ(congestion.window(), first + 2 * kPacket);
}

TEST(Congestion, NeverLeavesItsBounds) {
  Congestion congestion(kPacket, kMost);
  for (int i = 0; i < 100; ++i) congestion.on_acknowledged(congestion.window(), congestion.window());
  EXPECT_EQ(congestion.window(), kMost);
  for (int i = 0; i < 100; ++i) congestion.on_loss();
  EXPECT_EQ(congestion.window(), tuning::kFewestBytesInFlight);
  for (int i = 0; i < 100; ++i) congestion.on_timeout();
  EXPECT_EQ(congestion.window(), tuning::kFewestBytesInFlight);
  Congestion small(1024, kMost);
  for (int i = 0; i < 100; ++i) small.on_loss();
  EXPECT_EQ(small.window(), 1024 * tuning::kFewestPacketsInFlight);
}

TEST(Congestion, HugePacketsKeepAtLeastOne) {
  Congestion congestion(65535, 1000);
  EXPECT_EQ(congestion.window(), 65535u);
  congestion.on_timeout();
  EXPECT_EQ(congestion.window(), 65535u);
  Congestion wide(65535, kMost);
  wide.on_timeout();
  EXPECT_EQ(wide.window(), 65536u) << "four of them would be a quarter of a megabyte from each sender";
}

TEST(Congestion, UnusedWindowDoesNotGrow) {
  Congestion congestion(kPacket, kMost);
  const std::uint64_t window = congestion.window();
  for (int i = 0; i < 100; ++i) congestion.on_acknowledged(kPacket, window / 4);
  EXPECT_EQ(congestion.window(), window);
}

TEST(Congestion, AHalfUsedWindowGrows) {
  Congestion congestion(kPacket, kMost);
  const std::uint64_t window = congestion.window();
  congestion.on_acknowledged(kPacket, window / 2 - 1);
  EXPECT_EQ(congestion.window(), window);
  congestion.on_acknowledged(kPacket, window / 2);
  EXPECT_EQ(congestion.window(), window + kPacket);
}

TEST(Congestion, ALossBeginsTheNextStepAnew) {
  Congestion congestion(kPacket, kMost);
  congestion.on_acknowledged(kMost, kMost);
  congestion.on_loss();
  congestion.on_acknowledged(congestion.window() - 1, kMost);
  congestion.on_loss();
  const std::uint64_t window = congestion.window();
  congestion.on_acknowledged(window - 1, kMost);
  EXPECT_EQ(congestion.window(), window);
  congestion.on_acknowledged(1, kMost);
  EXPECT_EQ(congestion.window(), window + kPacket);
}

// Whatever has been found spurious since is of before.
TEST(Congestion, ACutIsNotTakenBackOnceTheWindowHasGrown) {
  Congestion congestion(kPacket, kMost);
  congestion.on_acknowledged(kMost, kMost);
  congestion.on_loss();
  congestion.on_acknowledged(congestion.window(), kMost);
  const std::uint64_t window = congestion.window(), threshold = congestion.threshold();
  congestion.on_spurious_retransmission();
  EXPECT_EQ(congestion.window(), window);
  EXPECT_EQ(congestion.threshold(), threshold);
}

TEST(Congestion, TimeoutsThatFollowEachOtherAreTakenBackTogether) {
  Congestion congestion(kPacket, kMost);
  congestion.on_acknowledged(congestion.window(), congestion.window());
  const std::uint64_t window = congestion.window();
  congestion.on_timeout();
  congestion.on_timeout();
  congestion.on_spurious_retransmission();
  EXPECT_EQ(congestion.window(), window);
}

TEST(Congestion, TimeoutFallsToTheLeastAndIsTakenBackWhenSpurious) {
  Congestion congestion(kPacket, kMost);
  congestion.on_acknowledged(congestion.window(), congestion.window());
  const std::uint64_t window = congestion.window();
  congestion.on_timeout();
  EXPECT_EQ(congestion.window(), tuning::kFewestBytesInFlight);
  EXPECT_EQ(congestion.threshold(), window / 2);
  congestion.on_spurious_retransmission();
  EXPECT_EQ(congestion.window(), window);
  EXPECT_EQ(congestion.threshold(), kMost);
  congestion.on_spurious_retransmission();
  EXPECT_EQ(congestion.window(), window) << "taken back once";
}

TEST(PacketPool, GivesDistinctAlignedBuffersUpToItsCapacity) {
  PacketPool pool(1000, 10);
  EXPECT_EQ(pool.buffer_bytes(), 1024u);
  std::set<std::byte*> buffers;
  for (int i = 0; i < 10; ++i) {
    std::byte* buffer = pool.take();
    ASSERT_NE(buffer, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer) % 64, 0u);
    EXPECT_TRUE(buffers.insert(buffer).second);
    std::fill_n(buffer, pool.buffer_bytes(), std::byte{0xee});
  }
  EXPECT_EQ(pool.take(), nullptr);
  EXPECT_EQ(pool.in_use(), 10u);
  for (std::byte* buffer : buffers) pool.give_back(buffer);
  EXPECT_EQ(pool.in_use(), 0u);
  EXPECT_TRUE(buffers.contains(pool.take()));
}

TEST(PacketPool, HoldingLeavesThePartForSending) {
  PacketPool pool(64, 8);
  for (int i = 0; i < 6; ++i) ASSERT_NE(pool.take_for_holding(), nullptr);
  EXPECT_EQ(pool.take_for_holding(), nullptr);
  EXPECT_NE(pool.take(), nullptr);
  EXPECT_NE(pool.take(), nullptr);
  EXPECT_EQ(pool.take(), nullptr);
}

TEST(PacketPool, NoBufferIsShorterThanItWasAskedToBe) {
  for (const std::size_t bytes : {1u, 63u, 64u, 65u, 960u, 961u, 1024u}) {
    EXPECT_EQ(PacketPool(bytes, 1).buffer_bytes(), (bytes + 63) / 64 * 64);
  }
}

TEST(PacketPool, AFirstBufferIsThereAlsoWhenAllAreInUse) {
  PacketPool pool(64, 2);
  std::set<std::byte*> buffers = {pool.take_first(), pool.take()};
  EXPECT_EQ(pool.take(), nullptr);
  for (int first = 0; first < 3; ++first) buffers.insert(pool.take_first());
  EXPECT_EQ(buffers.size(), 5u);
  EXPECT_FALSE(buffers.contains(nullptr));
  EXPECT_EQ(pool.take(), nullptr);
  std::byte* const given = *buffers.begin();
  pool.give_back(given);
  EXPECT_EQ(pool.take_first(), given) << "no more are made than are needed";
  EXPECT_EQ(pool.take(), nullptr);
}

TEST(PacketPool, GrowsOverSlabs) {
  PacketPool pool(65536, PacketPool::buffers_for(65536));
  std::vector<std::byte*> buffers;
  while (std::byte* buffer = pool.take()) buffers.push_back(buffer);
  EXPECT_EQ(buffers.size(), 64u);
  for (std::byte* buffer : buffers) pool.give_back(buffer);
}

}  // namespace
}  // namespace openlapi
