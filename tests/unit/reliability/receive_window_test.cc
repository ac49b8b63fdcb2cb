#include "dataplane/reliability/receive_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "dataplane/tuning.h"
#include "dataplane/wire/packet_header.h"

namespace openlapi {
namespace {

constexpr std::uint32_t kThreshold = 5;

enum class Arrival { in_order, duplicate, held, dropped, malformed };

// Early packets are held where there is room.
Arrival arrive(ReceiveWindow& window, Sequence sequence, std::uint16_t ahead, bool ack_wanted,
               std::span<const std::byte> payload, Nanoseconds now) {
  switch (window.offer(sequence, ahead, ack_wanted, now)) {
    case ArrivalVerdict::in_order:
      return Arrival::in_order;
    case ArrivalVerdict::duplicate:
      return Arrival::duplicate;
    case ArrivalVerdict::malformed:
      return Arrival::malformed;
    case ArrivalVerdict::early:
      break;
  }
  return window.hold(sequence, payload, now) ? Arrival::held : Arrival::dropped;
}

class ReceiveWindowTest : public testing::Test {
 protected:
  Arrival offer(Sequence sequence, std::uint16_t ahead = 0, Nanoseconds now = 0, bool ack_wanted = false) {
    std::byte payload[sizeof(sequence)];
    std::memcpy(payload, &sequence, sizeof(sequence));
    return arrive(window_, sequence, ahead, ack_wanted, payload, now);
  }

  void take(Sequence sequence, Nanoseconds now = 0) {
    ASSERT_EQ(offer(sequence, 0, now), Arrival::in_order);
    window_.taken(now);
  }

  // What the next held packet contains, after taking it.
  std::optional<Sequence> take_held() {
    std::span<std::byte> payload;
    if (!window_.next_held(payload)) return std::nullopt;
    Sequence sequence = 0;
    EXPECT_EQ(payload.size(), sizeof(sequence));
    std::memcpy(&sequence, payload.data(), sizeof(sequence));
    window_.taken(0);
    return sequence;
  }

  PacketPool pool_{256, 2048};
  ReceiveWindow window_{pool_};
};

TEST_F(ReceiveWindowTest, BeginsWhereItIsToldTo) {
  window_.begin(100);
  EXPECT_FALSE(window_.established());
  EXPECT_EQ(offer(107, 7), Arrival::held);
  EXPECT_TRUE(window_.established());
  EXPECT_EQ(window_.next(), 100u);
  EXPECT_EQ(offer(100), Arrival::in_order);
}

// The beginning and every later place, near the end of the numbers as well: a packet that claims that more was given up
// than can have been changes nothing.
TEST_F(ReceiveWindowTest, NoSkipIsLongerThanWhatASenderCanGiveUp) {
  for (const Sequence next : {Sequence{0}, Sequence{1000}, UINT32_MAX - 10}) {
    PacketPool pool(256, 16);
    ReceiveWindow window(pool);
    window.begin(next);
    const auto offer_at = [&](Sequence sequence, std::uint16_t ahead) {
      return arrive(window, sequence, ahead, true, {}, 0);
    };
    for (const Sequence far : {tuning::kMostPacketsGivenUp + 1, Sequence{INT32_MAX} - 1023, Sequence{INT32_MAX}}) {
      EXPECT_EQ(offer_at(next + far, 0), Arrival::malformed) << far;
      EXPECT_EQ(offer_at(next + far + 1023, 1023), Arrival::malformed) << far;
    }
    EXPECT_FALSE(window.established());
    EXPECT_EQ(window.next(), next);
    EXPECT_FALSE(window.must_acknowledge(1)) << "and is not answered";
    EXPECT_EQ(offer_at(next, 0), Arrival::in_order);
    window.taken(0);
    EXPECT_EQ(offer_at(next + 1 + tuning::kMostPacketsGivenUp + 1, 0), Arrival::malformed);
    EXPECT_EQ(offer_at(next + 1 + tuning::kMostPacketsGivenUp, 0), Arrival::in_order);
    EXPECT_EQ(window.next(), next + 1 + tuning::kMostPacketsGivenUp);
  }
}

TEST_F(ReceiveWindowTest, InOrderPacketsCountOnlyWhenTaken) {
  EXPECT_EQ(offer(0), Arrival::in_order);
  EXPECT_EQ(window_.next(), 0u);
  window_.refused();
  EXPECT_EQ(window_.next(), 0u);
  EXPECT_EQ(offer(0), Arrival::in_order) << "comes again";
  window_.taken(0);
  EXPECT_EQ(window_.next(), 1u);
  EXPECT_EQ(offer(0), Arrival::duplicate);
  EXPECT_TRUE(window_.saw_duplicate());
}

TEST_F(ReceiveWindowTest, EarlyPacketsComeOutWhenTheGapCloses) {
  take(0);
  EXPECT_EQ(offer(4, 3), Arrival::held);
  EXPECT_EQ(offer(2, 1), Arrival::held);
  EXPECT_EQ(offer(3, 2), Arrival::held);
  EXPECT_EQ(window_.selective(), 0b111u);
  EXPECT_EQ(offer(3, 2), Arrival::duplicate);
  EXPECT_EQ(take_held(), std::nullopt);
  take(1);
  EXPECT_EQ(take_held(), 2u);
  EXPECT_EQ(take_held(), 3u);
  EXPECT_EQ(take_held(), 4u);
  EXPECT_EQ(take_held(), std::nullopt);
  EXPECT_EQ(window_.next(), 5u);
  EXPECT_EQ(pool_.in_use(), 0u);
  EXPECT_EQ(window_.selective(), 0u);
}

TEST_F(ReceiveWindowTest, EveryBitOfTheSelectiveAcknowledgement) {
  for (unsigned bit = 0; bit < tuning::kMostPacketsInFlight - 1; ++bit) {
    PacketPool pool(256, 1024);
    ReceiveWindow window(pool);
    const Sequence first = UINT32_MAX - 20;  // the numbers wrap on the way
    window.begin(first);
    const Sequence early = first + 1 + bit;
    EXPECT_EQ(arrive(window, early, static_cast<std::uint16_t>(1 + bit), false, {}, 0), Arrival::held);
    EXPECT_EQ(window.next(), first);
    EXPECT_EQ(window.selective(), bit < 64 ? std::uint64_t{1} << bit : 0) << "bit " << bit;
    EXPECT_EQ(window.reaches_beyond_header(), bit >= 64) << "bit " << bit;
    std::array<std::uint64_t, wire::kMostSelectiveWords - 1> words;
    ASSERT_EQ(window.wider_selective(words), bit / 64) << "bit " << bit;
    for (unsigned word = 1; word <= bit / 64; ++word) {
      EXPECT_EQ(words[word - 1], word == bit / 64 ? std::uint64_t{1} << bit % 64 : 0) << "bit " << bit;
    }
  }
}

TEST_F(ReceiveWindowTest, WhatIsTakenIsNotBeyondTheHeader) {
  take(0);
  EXPECT_EQ(offer(66, 65), Arrival::held);
  EXPECT_TRUE(window_.reaches_beyond_header());
  take(1);
  EXPECT_FALSE(window_.reaches_beyond_header());
  for (Sequence sequence = 2; sequence != 66; ++sequence) take(sequence);
  EXPECT_EQ(take_held(), 66u);
  EXPECT_FALSE(window_.reaches_beyond_header());
}

TEST_F(ReceiveWindowTest, DistantPacketsAreDroppedOrMalformed) {
  EXPECT_EQ(offer(2000, tuning::kMostPacketsInFlight), Arrival::malformed);
  EXPECT_FALSE(window_.established());
  EXPECT_EQ(offer(5), Arrival::in_order);  // seen, not taken
  EXPECT_EQ(offer(5 + 1023, 1023), Arrival::held);
  EXPECT_EQ(offer(4, 0), Arrival::duplicate);
  EXPECT_EQ(offer(5 + 1030, 1023), Arrival::held) << "its sender has given 5 to 11 up";
  EXPECT_EQ(window_.next(), 12u);
}

TEST_F(ReceiveWindowTest, HeldPacketsAreBounded) {
  take(0);
  constexpr std::uint32_t kMost = tuning::kMostHeldPackets - 1;  // the one in front of them is not held
  std::uint32_t held = 0;
  for (Sequence sequence = 2; sequence < 2 * tuning::kMostHeldPackets; ++sequence) {
    const std::uint32_t ahead = std::min(sequence - 1, tuning::kMostPacketsInFlight);
    if (offer(sequence, static_cast<std::uint16_t>(ahead)) == Arrival::held) ++held;
  }
  EXPECT_EQ(held, kMost);
  EXPECT_EQ(window_.held_packets(), kMost);
  EXPECT_EQ(pool_.in_use(), kMost);
  window_.forget();
  EXPECT_EQ(pool_.in_use(), 0u);
}

TEST_F(ReceiveWindowTest, EmptyPoolDropsEarlyPacketsOnly) {
  while (pool_.take() != nullptr) {
  }
  take(0);
  EXPECT_EQ(offer(2, 1), Arrival::dropped);
  take(1);
  take(2);
}

TEST_F(ReceiveWindowTest, RefusedHeldPacketHasToComeAgain) {
  take(0);
  offer(2, 1);
  offer(3, 2);
  take(1);
  std::span<std::byte> payload;
  ASSERT_TRUE(window_.next_held(payload));
  window_.refused();
  EXPECT_FALSE(window_.next_held(payload));
  EXPECT_EQ(window_.next(), 2u);
  EXPECT_EQ(window_.selective(), 0b1u) << "3 is still here";
  take(2);
  EXPECT_EQ(take_held(), 3u);
  EXPECT_EQ(pool_.in_use(), 0u);
}

TEST_F(ReceiveWindowTest, RetransmissionReplacesAHeldCopyNotYetTaken) {
  take(0);
  offer(2, 1);
  take(1);
  EXPECT_EQ(offer(2), Arrival::in_order);
  window_.taken(0);
  EXPECT_EQ(take_held(), std::nullopt);
  EXPECT_EQ(window_.next(), 3u);
  EXPECT_EQ(pool_.in_use(), 0u);
}

TEST_F(ReceiveWindowTest, SkipsWhatTheSenderGaveUp) {
  take(0);
  offer(3, 2);
  offer(8, 7);
  EXPECT_EQ(offer(9, 2), Arrival::held);  // the sender's oldest is 7
  EXPECT_EQ(window_.next(), 7u);
  EXPECT_EQ(pool_.in_use(), 2u) << "3 is gone";
  EXPECT_EQ(offer(5), Arrival::duplicate);
  take(7);
  EXPECT_EQ(take_held(), 8u);
  EXPECT_EQ(take_held(), 9u);
}

// Its sender has given up all before a packet that is held: the ring then begins with it.
TEST_F(ReceiveWindowTest, KeepsAHeldPacketThatASkipLeadsTo) {
  take(0);
  offer(5, 4);
  EXPECT_EQ(offer(5 + tuning::kFirstRingSize, tuning::kFirstRingSize), Arrival::held);
  EXPECT_EQ(window_.next(), 5u);
  EXPECT_EQ(take_held(), 5u);
  EXPECT_EQ(window_.held_packets(), 1u);
}

TEST_F(ReceiveWindowTest, FreesAHeldPacketThatIsGivenUpAsWell) {
  take(0);
  offer(5, 4);
  offer(9, 4);
  EXPECT_EQ(window_.next(), 5u);
  EXPECT_EQ(offer(30), Arrival::in_order);
  EXPECT_EQ(pool_.in_use(), 0u);
  EXPECT_EQ(window_.held_packets(), 0u);
}

// The sender is told that they are here, and they do not come twice; they take no buffer.
TEST_F(ReceiveWindowTest, PlacedPacketsHaveTheirTurnInSilence) {
  take(0);
  EXPECT_EQ(window_.offer(2, 1, false, 0), ArrivalVerdict::early);
  EXPECT_TRUE(window_.place(2, 0));
  EXPECT_TRUE(window_.must_acknowledge(kThreshold));
  EXPECT_EQ(window_.selective(), 1u);
  EXPECT_EQ(window_.offer(2, 1, false, 0), ArrivalVerdict::duplicate);
  EXPECT_EQ(offer(3, 2), Arrival::held);
  EXPECT_EQ(pool_.in_use(), 1u);
  take(1);
  std::span<std::byte> payload;
  ASSERT_TRUE(window_.next_held(payload));
  EXPECT_TRUE(payload.empty());
  window_.taken(0);
  EXPECT_EQ(take_held(), 3u);
  EXPECT_EQ(window_.held_packets(), 0u);
}

TEST_F(ReceiveWindowTest, PlacedPacketsAreForgottenWithTheirSender) {
  take(0);
  EXPECT_TRUE(window_.place(2, 0));
  EXPECT_TRUE(window_.place(5, 0));
  window_.forget();
  EXPECT_EQ(window_.held_packets(), 0u);
  EXPECT_EQ(pool_.in_use(), 0u);
  window_.begin(1);
  EXPECT_EQ(offer(2, 1), Arrival::held);
}

TEST_F(ReceiveWindowTest, HoldsAsManyAgainOnceTheyAreTaken) {
  for (Sequence sequence = 0; sequence < 2 * tuning::kMostHeldPackets; sequence += 2) {
    ASSERT_EQ(offer(sequence + 1, 1), Arrival::held);
    take(sequence);
    ASSERT_EQ(take_held(), sequence + 1);
    ASSERT_EQ(window_.held_packets(), 0u);
  }
}

TEST_F(ReceiveWindowTest, HoldsNothingLongerThanABuffer) {
  const std::vector<std::byte> payload(pool_.buffer_bytes() - wire::kPacketHeaderSize + 1);
  EXPECT_EQ(arrive(window_, 1, 1, false, payload, 0), Arrival::dropped);
  EXPECT_EQ(arrive(window_, 1, 1, false, std::span(payload).first(payload.size() - 1), 0), Arrival::held);
}

TEST_F(ReceiveWindowTest, ForgetsAllOfItsSender) {
  take(0, 1000);
  offer(2, 1);
  offer(0);
  window_.forget();
  EXPECT_FALSE(window_.established());
  EXPECT_FALSE(window_.saw_duplicate());
  EXPECT_FALSE(window_.must_acknowledge(1));
  EXPECT_EQ(window_.ack_deadline(), UINT64_MAX);
  EXPECT_EQ(window_.selective(), 0u);
  EXPECT_EQ(pool_.in_use(), 0u);
}

TEST_F(ReceiveWindowTest, AckAfterTheThresholdOrTheDelay) {
  take(0, 1000);
  EXPECT_FALSE(window_.ack_due(1000, kThreshold));
  EXPECT_EQ(window_.ack_deadline(), 1000 + tuning::kAckDelay);
  EXPECT_TRUE(window_.ack_due(1000 + tuning::kAckDelay, kThreshold));
  for (Sequence sequence = 1; sequence < kThreshold - 1; ++sequence) take(sequence, 2000);
  EXPECT_FALSE(window_.ack_due(2000, kThreshold));
  take(kThreshold - 1, 2000);
  EXPECT_TRUE(window_.ack_due(2000, kThreshold));
  EXPECT_TRUE(window_.ack_due(2000, 1));
  window_.acknowledged();
  EXPECT_FALSE(window_.ack_due(1'000'000'000, kThreshold));
  EXPECT_EQ(window_.ack_deadline(), UINT64_MAX);
}

TEST_F(ReceiveWindowTest, AckAtOnceWhenAskedOrEarlyOrAgain) {
  EXPECT_EQ(offer(0, 0, 0, true), Arrival::in_order);
  window_.taken(0);
  EXPECT_TRUE(window_.ack_due(0, kThreshold));
  EXPECT_EQ(window_.ack_deadline(), 0u);
  window_.acknowledged();
  offer(2, 1);
  EXPECT_TRUE(window_.ack_due(0, kThreshold));
  window_.acknowledged();
  offer(0);
  EXPECT_TRUE(window_.ack_due(0, kThreshold));
  window_.acknowledged();
  EXPECT_FALSE(window_.saw_duplicate());
  take(1);
  EXPECT_TRUE(window_.ack_due(0, kThreshold)) << "the gap is closed: the sender waits for that";
}

TEST_F(ReceiveWindowTest, AHeldPacketThatComesAgainIsToldAtOnce) {
  take(0);
  offer(2, 1);
  window_.acknowledged();
  EXPECT_EQ(offer(2, 1), Arrival::duplicate);
  EXPECT_TRUE(window_.must_acknowledge(kThreshold));
  EXPECT_TRUE(window_.saw_duplicate());
}

TEST_F(ReceiveWindowTest, AGapIsToldAtOnce) {
  offer(64, 64, 1000);
  EXPECT_TRUE(window_.must_acknowledge(kThreshold));
  EXPECT_EQ(window_.selective() >> 63, 1u);
}

TEST_F(ReceiveWindowTest, TellsItsOwnDelay) {
  take(0, 1'000'000);
  EXPECT_EQ(window_.ack_delay(1'000'000), 0);
  EXPECT_EQ(window_.ack_delay(1'045'999), 45);
  EXPECT_EQ(window_.ack_delay(10 * kSecond), UINT16_MAX);
}

}  // namespace
}  // namespace openlapi
