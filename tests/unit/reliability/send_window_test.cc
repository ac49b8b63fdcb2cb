#include "dataplane/reliability/send_window.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tests/unit/reliability/send_window_fixture.h"

namespace openlapi {
namespace {

TEST_F(SendWindowTest, CumulativeAcknowledgementCompletesInOrder) {
  add(5);
  EXPECT_EQ(transmit(10), (Sequences{0, 1, 2, 3, 4}));
  EXPECT_EQ(window_.in_flight_bytes(), 5 * kLength);
  Told outcome = acknowledge(3, 0, 50);
  EXPECT_TRUE(outcome.valid && outcome.advanced);
  EXPECT_FALSE(outcome.lost);
  EXPECT_EQ(outcome.bytes, 3 * kLength);
  EXPECT_EQ(outcome.round_trip, 40u);
  EXPECT_EQ(completed(), (Tags{1, 2, 3}));
  EXPECT_EQ(window_.packets_out(), 2u);
  EXPECT_EQ(pool_.in_use(), 2u);
  outcome = acknowledge(5, 0, 60);
  EXPECT_EQ(outcome.bytes, 2 * kLength);
  EXPECT_EQ(completed(), (Tags{4, 5}));
  EXPECT_TRUE(window_.everything_settled());
  EXPECT_EQ(window_.in_flight_bytes(), 0u);
  EXPECT_EQ(window_.outstanding_bytes(), 0u);
  EXPECT_EQ(pool_.in_use(), 0u);
}

TEST_F(SendWindowTest, OldAndRepeatedAcknowledgementsChangeNothing) {
  add(5);
  transmit(0);
  acknowledge(4, 0, 10);
  for (const Sequence old : {Sequence{0}, Sequence{3}, Sequence{4}, Sequence{0} - 1}) {
    const Told outcome = acknowledge(old, 0, 20);
    EXPECT_TRUE(outcome.valid);
    EXPECT_FALSE(outcome.advanced);
    EXPECT_EQ(outcome.bytes, 0u);
  }
  EXPECT_EQ(acknowledge(2, ~std::uint64_t{0}, 20).bytes, 0u) << "the bits of an old one do not count either";
  EXPECT_EQ(window_.packets_out(), 1u);
}

TEST_F(SendWindowTest, AcknowledgementOfTheFutureIsRefused) {
  add(3);
  EXPECT_FALSE(acknowledge(1, 0, 5).valid) << "queued but never sent";
  transmit(10);
  EXPECT_FALSE(acknowledge(4, 0, 20).valid);
  EXPECT_FALSE(acknowledge(1000, 0, 20).valid);
  EXPECT_TRUE(completed().empty());
  const Told outcome = acknowledge(0, ~std::uint64_t{0}, 20);
  EXPECT_TRUE(outcome.valid);
  EXPECT_EQ(outcome.bytes, 2 * kLength) << "bits beyond what was sent mean nothing";
}

// Of two numbers that are half of all apart neither is before the other.
TEST_F(SendWindowTest, AcknowledgementOfTheNumberOppositeIsRefused) {
  constexpr Sequence kHalf = Sequence{1} << 31;
  for (const Sequence first : {Sequence{0}, Sequence{7}, kHalf, UINT32_MAX}) {
    SendWindow window(pool_, first);
    for (unsigned sent = 0; sent < 3; ++sent) {
      EXPECT_FALSE(acknowledge(window, first + kHalf, 0, 1).valid) << first;
      EXPECT_FALSE(acknowledge(window, first + kHalf - 1, 0, 1).valid) << first;
      EXPECT_TRUE(acknowledge(window, first + kHalf + 1, 0, 1).old) << first;
      window.add(pool_.take(), kLength, nullptr, 0, 0);
      std::array<Transmission, 1> burst;
      ASSERT_EQ(window.collect(kWide, burst), 1u);
      window.transmitted(burst, 0);
    }
    EXPECT_EQ(acknowledge(window, first + 3, 0, 5).bytes, 3 * kLength) << first;
  }
}

TEST_F(SendWindowTest, WindowLimitsWhatLeaves) {
  add(10);
  EXPECT_TRUE(window_.has_transmission(1));
  EXPECT_EQ(transmit(0, 3 * kLength), (Sequences{0, 1, 2}));
  EXPECT_FALSE(window_.has_transmission(3 * kLength));
  EXPECT_TRUE(transmit(0, 3 * kLength).empty());
  acknowledge(2, 0, 5);
  EXPECT_EQ(transmit(6, 3 * kLength), (Sequences{3, 4}));
}

TEST_F(SendWindowTest, PacketsNotTakenAreOfferedAgain) {
  add(4);
  std::array<Transmission, 8> burst;
  ASSERT_EQ(window_.collect(kWide, burst), 4u);
  window_.transmitted({burst.data(), 1}, 0);
  EXPECT_EQ(transmit(1), (Sequences{1, 2, 3}));
}

TEST_F(SendWindowTest, ThreeLaterArrivalsMakeALoss) {
  add(6);
  transmit(0);
  EXPECT_FALSE(acknowledge(1, 0b001, 10).lost);  // 1 missing, 2 arrived
  EXPECT_FALSE(acknowledge(1, 0b011, 11).lost);
  EXPECT_FALSE(window_.has_transmission(1));
  EXPECT_TRUE(acknowledge(1, 0b111, 12).lost);
  EXPECT_EQ(transmit(13), (Sequences{1}));
  EXPECT_FALSE(acknowledge(1, 0b1111, 14).lost) << "its retransmission is on the way";
  EXPECT_TRUE(transmit(15).empty());
  EXPECT_EQ(acknowledge(6, 0, 20).bytes, kLength);
  EXPECT_EQ(completed(), (Tags{1, 2, 3, 4, 5, 6}));
}

TEST_F(SendWindowTest, SeveralGapsAreFoundAtOnceAndCutOnce) {
  add(12);
  transmit(0);
  // 0, 2, 5 missing; 1, 3, 4, 6, 7, 8 arrived.
  Told outcome = acknowledge(0, 0b11101101, 10);
  EXPECT_TRUE(outcome.lost);
  window_.mark_recovery();
  EXPECT_EQ(transmit(11), (Sequences{0, 2, 5}));
  outcome = acknowledge(0, 0b11111101101, 12);  // 9, 10, 11 too
  EXPECT_FALSE(outcome.lost);
  EXPECT_EQ(acknowledge(12, 0, 20).bytes, 3 * kLength);
}

TEST_F(SendWindowTest, OvertakenPacketIsGivenUpAfterAWhile) {
  add(3);
  transmit(0);
  Told outcome = acknowledge(0, 0b1, 10);
  EXPECT_FALSE(outcome.lost);
  EXPECT_EQ(outcome.recheck_at, 2 * kMillisecond);
  outcome = give_up_overtaken(2 * kMillisecond - 1);
  EXPECT_FALSE(outcome.lost);
  EXPECT_EQ(outcome.recheck_at, 2 * kMillisecond);
  outcome = give_up_overtaken(2 * kMillisecond);
  EXPECT_TRUE(outcome.lost);
  EXPECT_EQ(outcome.recheck_at, UINT64_MAX);
  EXPECT_EQ(transmit(3 * kMillisecond), (Sequences{0})) << "2 was not overtaken";
}

TEST_F(SendWindowTest, LateNewsOfAnOldArrivalIsNotMeasured) {
  add(3);
  transmit(0);
  acknowledge(0, 0b10, 10);  // that 1 arrived too was said in an acknowledgement that was lost
  EXPECT_EQ(acknowledge(3, 0, 900'000).round_trip, 0u);
}

TEST_F(SendWindowTest, NewLossAfterRecoveryCutsAgain) {
  add(4);
  transmit(0);
  EXPECT_TRUE(acknowledge(0, 0b111, 10).lost);
  window_.mark_recovery();
  transmit(11);
  acknowledge(4, 0, 20);
  add(4);
  transmit(30);
  EXPECT_TRUE(acknowledge(4, 0b111, 40).lost);
}

TEST_F(SendWindowTest, LostRetransmissionIsFoundByLaterArrivals) {
  add(4);
  transmit(0);
  acknowledge(0, 0b111, 10);
  EXPECT_EQ(transmit(11), (Sequences{0}));
  add(4);
  transmit(12);  // 4..7, sent after the retransmission of 0
  acknowledge(0, 0b0011111, 20);
  EXPECT_TRUE(transmit(21).empty());
  acknowledge(0, 0b0111111, 22);
  EXPECT_EQ(transmit(23), (Sequences{0}));
}

TEST_F(SendWindowTest, TimeoutRetransmitsWhatIsAsOldAndTheRestFollowsTheAnswer) {
  add(3);
  transmit(0);
  add(2);
  transmit(4 * kMillisecond);
  EXPECT_TRUE(window_.timed_out(kMillisecond));
  EXPECT_FALSE(window_.timed_out(kMillisecond)) << "waits already";
  EXPECT_EQ(transmit(5 * kMillisecond), (Sequences{0, 1, 2}));
  acknowledge(3, 0, 6 * kMillisecond);
  EXPECT_EQ(transmit(7 * kMillisecond), (Sequences{3, 4})) << "sent long before something that arrived";
  acknowledge(5, 0, 8 * kMillisecond);
  EXPECT_EQ(completed().size(), 5u);
  EXPECT_FALSE(window_.timed_out(kSecond));
}

TEST_F(SendWindowTest, AnswerTooFastForTheRetransmissionProvesNothing) {
  shortest_ = kMillisecond;
  add(1);
  transmit(0);
  add(2);
  transmit(kMillisecond);
  window_.timed_out(0);
  transmit(5 * kMillisecond);
  const Told outcome = acknowledge(1, 0, 5 * kMillisecond + 10 * kMicrosecond);
  EXPECT_EQ(outcome.round_trip, 0u) << "sent twice: not measured";
  EXPECT_TRUE(transmit(6 * kMillisecond).empty()) << "the first transmission was answered, the rest may follow";
}

// Karn's rule: which of the two transmissions was answered, nobody knows.
TEST_F(SendWindowTest, APacketThatWasSentTwiceIsNotMeasured) {
  shortest_ = kMillisecond;
  add(1);
  transmit(0);
  window_.timed_out(0);
  transmit(5 * kMillisecond);
  EXPECT_EQ(acknowledge(1, 0, 7 * kMillisecond).round_trip, 0u) << "slow enough to be an answer to the second";
  add(1);
  transmit(10 * kMillisecond);
  EXPECT_EQ(acknowledge(2, 0, 12 * kMillisecond).round_trip, 2 * kMillisecond);
}

TEST_F(SendWindowTest, OldestLostPacketLeavesThroughAClosedWindow) {
  add(8);
  transmit(0);
  window_.timed_out(0);
  EXPECT_TRUE(window_.has_transmission(kLength));
  EXPECT_EQ(transmit(1, kLength), (Sequences{0}));
}

TEST_F(SendWindowTest, OldestLostPacketLeavesWhileOthersFillTheWindow) {
  add(1);
  transmit(0);
  add(3);
  transmit(10);
  ASSERT_TRUE(window_.timed_out(0));
  ASSERT_EQ(window_.in_flight_bytes(), 3 * kLength);
  EXPECT_TRUE(window_.has_transmission(kLength));
  EXPECT_EQ(transmit(20, kLength), (Sequences{0}));
  EXPECT_FALSE(window_.has_transmission(kLength));
}

TEST_F(SendWindowTest, PeerThatDroppedAHeldPacketGetsItAgain) {
  add(2);
  transmit(0);
  acknowledge(0, 0b1, 10);
  acknowledge(1, 0, 20);  // 1 had been acknowledged selectively, then was refused
  EXPECT_TRUE(window_.timed_out(0));
  EXPECT_EQ(transmit(30), (Sequences{1}));
  acknowledge(2, 0, 40);
  EXPECT_EQ(completed(), (Tags{1, 2}));
  EXPECT_EQ(window_.in_flight_bytes(), 0u);
}

TEST_F(SendWindowTest, ResendAllRepeatsEverythingTransmitted) {
  add(3);
  transmit(0);
  add(1);
  window_.resend_all();
  EXPECT_EQ(window_.in_flight_bytes(), 0u);
  EXPECT_EQ(transmit(1), (Sequences{0, 1, 2, 3}));
  EXPECT_EQ(window_.in_flight_bytes(), 4 * kLength);
}

TEST_F(SendWindowTest, AbandonedPacketsAreReportedSoAndNumbersGoOn) {
  add(3);
  transmit(0);
  acknowledge(1, 0, 5);
  EXPECT_EQ(completed(), (Tags{1}));
  add(1);
  window_.abandon();
  EXPECT_EQ(completed(false), (Tags{2, 3, 4}));
  EXPECT_EQ(pool_.in_use(), 0u);
  EXPECT_FALSE(window_.has_transmission(kWide));
  add(1);
  EXPECT_EQ(transmit(10), (Sequences{4}));
  EXPECT_EQ(window_.settled(), 4u);
}

TEST_F(SendWindowTest, RingGrowsAndKeepsHeadsAndTags) {
  const char data[4] = "abc";
  std::vector<Transmission> burst(tuning::kMostPacketsInFlight);
  for (std::uint32_t i = 0; i < tuning::kMostPacketsInFlight; ++i) {
    ASSERT_TRUE(window_.has_slot());
    std::byte* head = window_.add(nullptr, 60, data, 3, i + 1);
    head[wire::kPacketHeaderSize] = static_cast<std::byte>(i);
    head[wire::kPacketHeaderSize + 1] = static_cast<std::byte>(i >> 8);
  }
  EXPECT_FALSE(window_.has_slot());
  ASSERT_EQ(window_.collect(kWide, burst), burst.size());
  for (std::uint32_t i = 0; i < burst.size(); ++i) {
    EXPECT_EQ(burst[i].sequence, i);
    EXPECT_EQ(burst[i].length(), 63u);
    EXPECT_EQ(burst[i].data, data);
    EXPECT_EQ(burst[i].head[wire::kPacketHeaderSize], static_cast<std::byte>(i));
    EXPECT_EQ(burst[i].head[wire::kPacketHeaderSize + 1], static_cast<std::byte>(i >> 8));
  }
  window_.transmitted(burst, 0);
  acknowledge(tuning::kMostPacketsInFlight, 0, 10);
  EXPECT_EQ(completed().size(), tuning::kMostPacketsInFlight);
  EXPECT_GT(window_.memory_bytes(), 100'000u);
  add(1);
  EXPECT_EQ(transmit(20), (Sequences{tuning::kMostPacketsInFlight}));
}

TEST_F(SendWindowTest, NumbersWrapRound) {
  SendWindow window(pool_, UINT32_MAX - 3);
  for (int i = 0; i < 8; ++i) window.add(pool_.take(), kLength, nullptr, 0, 100 + i);
  std::array<Transmission, 16> burst;
  ASSERT_EQ(window.collect(kWide, burst), 8u);
  EXPECT_EQ(burst[0].sequence, UINT32_MAX - 3);
  EXPECT_EQ(burst[7].sequence, 3u);
  window.transmitted({burst.data(), 8}, 0);
  EXPECT_FALSE(acknowledge(window, 4 + 1, 0, 1).valid);
  // UINT32_MAX - 3 and UINT32_MAX are missing.
  EXPECT_TRUE(acknowledge(window, UINT32_MAX - 3, 0b1111011, 1).lost);
  ASSERT_EQ(window.collect(kWide, burst), 2u);
  EXPECT_EQ(burst[0].sequence, UINT32_MAX - 3);
  EXPECT_EQ(burst[1].sequence, UINT32_MAX);
  window.transmitted({burst.data(), 2}, 2);
  EXPECT_EQ(acknowledge(window, 0, 0b111, 3).bytes, 2 * kLength);
  EXPECT_TRUE(acknowledge(window, 4, 0, 4).advanced);
  unsigned completed = 0;
  for (CompletedPacket done; window.take_completed(done); ++completed) EXPECT_EQ(done.tag, 100 + completed);
  EXPECT_EQ(completed, 8u);
  EXPECT_TRUE(window.everything_settled());
}

// Wherever among the transmissions their numbers come round: what was sent before others that arrived is lost, and what
// was sent again after them is not.
TEST_F(SendWindowTest, TheOrderOfTransmissionsWrapsRound) {
  for (Sequence first = UINT32_MAX - 8; first != 2; ++first) {
    SendWindow window(pool_, first);
    for (int i = 0; i < 5; ++i) window.add(pool_.take(), kLength, nullptr, 0, 0);
    std::array<Transmission, 16> burst;
    window.transmitted({burst.data(), window.collect(kWide, burst)}, 0);
    EXPECT_TRUE(acknowledge(window, first, 0b1111, 1).lost) << first;
    ASSERT_EQ(window.collect(kWide, burst), 1u) << first;
    EXPECT_EQ(burst[0].sequence, first);
    window.transmitted({burst.data(), 1}, 2);
    EXPECT_FALSE(acknowledge(window, first, 0b1111, 3).lost) << first;
    EXPECT_FALSE(window.anything_unsent()) << first;
    EXPECT_EQ(acknowledge(window, first + 5, 0, 4).bytes, kLength) << first;
    EXPECT_TRUE(window.everything_settled()) << first;
  }
}

TEST_F(SendWindowTest, PacketsWithoutTagAreFreedSilently) {
  window_.add(pool_.take(), kLength, nullptr, 0, 0);
  window_.add(pool_.take(), kLength, nullptr, 0, 7);
  window_.add(pool_.take(), kLength, nullptr, 0, 0);
  transmit(0);
  acknowledge(3, 0, 1);
  EXPECT_EQ(completed(), (Tags{7}));
  EXPECT_EQ(pool_.in_use(), 0u);
}

TEST_F(SendWindowTest, DestructionGivesBuffersBack) {
  {
    SendWindow other(pool_);
    for (int i = 0; i < 20; ++i) other.add(pool_.take(), kLength, nullptr, 0, 1);
    EXPECT_EQ(pool_.in_use(), 20u);
  }
  EXPECT_EQ(pool_.in_use(), 0u);
}

}  // namespace
}  // namespace openlapi
