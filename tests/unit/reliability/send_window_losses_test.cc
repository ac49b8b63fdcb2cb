// Which packets of a send window count as lost and when, at the bounds; and what its slots and counts say.
#include <array>
#include <vector>

#include "tests/unit/reliability/send_window_fixture.h"

namespace openlapi {
namespace {

using SendWindowLosses = SendWindowTest;

// Two behind it are too few to count, but one of them left long enough after it.
TEST_F(SendWindowLosses, APacketIsLostWhenOneThatLeftMuchLaterHasArrived) {
  for (const Nanoseconds later : {kMillisecond - 1, kMillisecond}) {
    SendWindow window(pool_);
    std::array<Transmission, 1> burst;
    for (const Nanoseconds at : {Nanoseconds{0}, later}) {
      window.add(pool_.take(), kLength, nullptr, 0, 0);
      ASSERT_EQ(window.collect(kWide, burst), 1u);
      window.transmitted(burst, at);
    }
    EXPECT_EQ(acknowledge(window, 0, 1, later + 10).lost, later == kMillisecond) << later;
    EXPECT_EQ(window.has_transmission(kWide), later == kMillisecond);
  }
}

TEST_F(SendWindowLosses, FillsNoMoreThanThereIsRoomFor) {
  add(5);
  transmit(0);
  ASSERT_TRUE(window_.timed_out(0));
  std::array<Transmission, 3> burst;
  EXPECT_EQ(window_.collect(kWide, std::span(burst).first(2)), 2u);
  EXPECT_EQ(window_.collect(kWide, std::span(burst).first(0)), 0u);
}

// Through a closed window only the oldest one may leave.
TEST_F(SendWindowLosses, ALostPacketBehindTheOldestWaitsForTheWindow) {
  add(5);
  transmit(0);
  ASSERT_TRUE(acknowledge(0, 0b1110, 10).lost);
  std::array<Transmission, 2> burst;
  ASSERT_EQ(window_.collect(kWide, burst), 2u);
  EXPECT_EQ(burst[0].sequence, 0u);
  EXPECT_EQ(burst[1].sequence, 1u);
  EXPECT_TRUE(window_.has_transmission(1));
  window_.transmitted(std::span(burst).first(1), 20);
  EXPECT_FALSE(window_.has_transmission(kLength));
  EXPECT_EQ(window_.collect(kLength, burst), 0u);
  EXPECT_TRUE(window_.has_transmission(kLength + 1));
  EXPECT_EQ(transmit(30), (Sequences{1}));
}

TEST_F(SendWindowLosses, AnOldAcknowledgementIsCalledThat) {
  add(3);
  transmit(0);
  EXPECT_FALSE(acknowledge(2, 0, 10).old);
  EXPECT_FALSE(acknowledge(2, 0, 20).old);
  EXPECT_TRUE(acknowledge(1, 0, 20).old);
}

// The places of packets with a tag serve again for such as have left without one.
TEST_F(SendWindowLosses, APacketWithoutTagInTheOldPlaceOfOneIsFreedSilently) {
  add(tuning::kFirstRingSize);
  transmit(0);
  acknowledge(tuning::kFirstRingSize, 0, 10);
  EXPECT_EQ(completed().size(), tuning::kFirstRingSize);
  for (std::uint32_t i = 0; i < tuning::kFirstRingSize; ++i) window_.add_sent(pool_.take(), kLength, 20);
  acknowledge(2 * tuning::kFirstRingSize, 0, 30);
  EXPECT_TRUE(completed().empty());
  EXPECT_EQ(pool_.in_use(), 0u);
}

TEST_F(SendWindowLosses, SaysHowManyBuffersItHolds) {
  EXPECT_EQ(window_.buffers_held(), 0u);
  window_.add(nullptr, 60, "abc", 3, 0);
  EXPECT_EQ(window_.buffers_held(), 0u) << "a short head takes none";
  add(2);
  EXPECT_EQ(window_.buffers_held(), 2u);
  transmit(0);
  acknowledge(3, 0, 10);
  completed();
  EXPECT_EQ(window_.buffers_held(), 0u);
}

TEST_F(SendWindowLosses, SaysHowMuchMemoryItTakes) {
  EXPECT_EQ(window_.memory_bytes(), 0u);
  add(1);
  const std::size_t slots = window_.memory_bytes();
  EXPECT_EQ(slots % tuning::kFirstRingSize, 0u);
  EXPECT_GT(slots, 0u);
  window_.add(nullptr, 60, "abc", 3, 0);
  EXPECT_EQ(window_.memory_bytes() - slots,
            tuning::kFirstRingSize * (wire::kPacketHeaderSize + tuning::kSmallHeadBytes));
}

}  // namespace
}  // namespace openlapi
