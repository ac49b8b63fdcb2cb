#include "dataplane/reliability/reliable_channel.h"

#include <gtest/gtest.h>

#include "tests/unit/reliability/channel_end.h"

namespace openlapi {
namespace {

constexpr Nanoseconds kStart = kSecond;

class ReliableChannelTest : public testing::Test {
 protected:
  ReliableChannelTest() : left_({.self = 0}), right_({.self = 1}) {}

  void send(unsigned count) {
    for (unsigned i = 0; i < count; ++i) ASSERT_TRUE(left_.send(next_number_++));
  }

  // Message 0 from left to right, so that both know each other and nothing is owed.
  void get_acquainted() {
    ASSERT_TRUE(left_.send(next_number_++));
    introduce(left_, right_);
    right_.receive_all(left_.transmit(kStart), kStart);
    left_.receive(right_.acknowledgement(kStart), kStart);
    ASSERT_TRUE(left_.channel().all_acknowledged());
  }

  // The first packet of `from` is turned away with the epoch of `to`.
  static void introduce(ChannelEnd& from, ChannelEnd& to) {
    to.receive_all(from.transmit(kStart), kStart);
    from.receive_all(to.transmit(kStart), kStart);
    ASSERT_NE(from.channel().peer_epoch(), 0u);
  }

  ChannelEnd left_;
  ChannelEnd right_;
  std::uint64_t next_number_ = 0;
};

TEST_F(ReliableChannelTest, DeliversInOrderAndAcknowledgesWithData) {
  send(3);
  introduce(left_, right_);
  right_.receive_all(left_.transmit(kStart), kStart);
  EXPECT_EQ(right_.delivered, numbers(0, 3));
  EXPECT_TRUE(left_.acknowledged.empty());
  right_.send(100);
  const auto packets = right_.transmit(kStart + 10);
  ASSERT_EQ(packets.size(), 1u) << "the acknowledgement rides on the data";
  left_.receive_all(packets, kStart + 20);
  EXPECT_EQ(left_.acknowledged, numbers(0, 3));
  EXPECT_EQ(left_.delivered, numbers(100, 1));
  EXPECT_EQ(right_.counters().acks_sent, 1u) << "that of the introduction";
  EXPECT_EQ(left_.counters().packets_sent, 4u);
  EXPECT_EQ(right_.counters().packets_received, 4u);
}

TEST_F(ReliableChannelTest, AcknowledgesAloneAfterTheDelay) {
  get_acquainted();
  send(1);
  right_.receive_all(left_.transmit(kStart), kStart);
  EXPECT_FALSE(right_.channel().ack_due(kStart));
  EXPECT_EQ(right_.channel().next_deadline(), kStart + tuning::kAckDelay);
  EXPECT_TRUE(right_.transmit(kStart + tuning::kAckDelay - 1).empty());
  const auto packets = right_.transmit(kStart + tuning::kAckDelay);
  ASSERT_EQ(packets.size(), 1u);
  EXPECT_EQ(packets[0].size(), wire::kPacketHeaderSize);
  left_.receive_all(packets, kStart + tuning::kAckDelay);
  EXPECT_TRUE(left_.channel().all_acknowledged());
  EXPECT_EQ(right_.channel().next_deadline(), UINT64_MAX);
  EXPECT_EQ(left_.channel().next_deadline(), UINT64_MAX);
}

TEST_F(ReliableChannelTest, AckThresholdOfOneAndThirtyOne) {
  get_acquainted();
  right_.context().ack_threshold = 1;
  send(1);
  right_.receive_all(left_.transmit(kStart), kStart);
  EXPECT_TRUE(right_.channel().ack_due(kStart));
  right_.acknowledgement(kStart);
  right_.context().ack_threshold = 31;
  send(30);
  right_.receive_all(left_.transmit(kStart), kStart);
  EXPECT_FALSE(right_.channel().ack_due(kStart));
  send(1);
  right_.receive_all(left_.transmit(kStart), kStart);
  EXPECT_TRUE(right_.channel().ack_due(kStart));
}

TEST_F(ReliableChannelTest, RetransmitsWhenNothingComesBackAndBacksOff) {
  get_acquainted();
  send(1);
  left_.transmit(kStart);
  Nanoseconds now = kStart;
  Nanoseconds wait = left_.channel().round_trip().timeout();
  EXPECT_EQ(wait, tuning::kShortestRetransmitTimeout);
  for (int round = 0; round < 12; ++round) {
    EXPECT_EQ(left_.channel().next_deadline(), now + wait);
    left_.channel().run_timers(now + wait - 1);
    EXPECT_TRUE(left_.transmit(now + wait - 1).empty());
    now += wait;
    left_.channel().run_timers(now);
    EXPECT_EQ(left_.transmit(now).size(), 1u);
    wait = std::min(2 * wait, tuning::kLongestRetransmitTimeout);
  }
  EXPECT_EQ(left_.counters().retransmits, 12u);
  EXPECT_EQ(left_.counters().timeouts, 12u);
  EXPECT_EQ(left_.channel().waiting_since(), kStart) << "nothing was acknowledged since";
  left_.channel().run_timers(now + wait);
  right_.receive_all(left_.transmit(now + wait), now + wait);
  left_.receive_all(right_.transmit(now + wait), now + wait);
  EXPECT_EQ(left_.channel().waiting_since(), UINT64_MAX);
  EXPECT_EQ(right_.delivered, numbers(0, 2));
  EXPECT_EQ(left_.channel().round_trip().timeout(), tuning::kLongestRetransmitTimeout) << "which of them was answered?";
  now += wait;
  send(1);
  right_.receive_all(left_.transmit(now), now);
  left_.receive(right_.acknowledgement(now), now);
  EXPECT_EQ(left_.channel().round_trip().back_offs(), 0u);
}

TEST_F(ReliableChannelTest, WaitingSinceIsTheTimeOfTheLastProgress) {
  get_acquainted();
  EXPECT_EQ(left_.channel().waiting_since(), UINT64_MAX);
  send(2);
  const auto packets = left_.transmit(kStart + 5);
  EXPECT_EQ(left_.channel().waiting_since(), kStart + 5);
  right_.receive(packets[0], kStart + 6);
  left_.receive(right_.acknowledgement(kStart + 7), kStart + 8);
  EXPECT_EQ(left_.channel().waiting_since(), kStart + 8);
}

TEST_F(ReliableChannelTest, ThreeSelectiveAcknowledgementsRetransmitAtOnce) {
  get_acquainted();
  send(5);
  const auto packets = left_.transmit(kStart);
  const std::uint64_t window = left_.channel().congestion().window();
  for (int arrived = 2; arrived <= 4; ++arrived) {
    right_.receive(packets[arrived], kStart + arrived);
    const auto answer = right_.transmit(kStart + arrived);
    ASSERT_EQ(answer.size(), 1u) << "a gap is told at once";
    left_.receive_all(answer, kStart + arrived);
    EXPECT_EQ(left_.channel().has_transmissions(), arrived == 4);
  }
  right_.receive(packets[0], kStart + 5);
  const auto again = left_.transmit(kStart + 6);
  ASSERT_EQ(again.size(), 2u) << "0 and 1 are behind three arrivals";
  EXPECT_LT(left_.channel().congestion().window(), window);
  right_.receive_all(again, kStart + 7);
  EXPECT_EQ(right_.delivered, numbers(0, 6));
  EXPECT_EQ(right_.counters().duplicates, 1u);
  left_.receive_all(right_.transmit(kStart + 8), kStart + 9);
  EXPECT_TRUE(left_.channel().all_acknowledged());
  EXPECT_EQ(left_.channel().congestion().window(), window) << "a retransmission was not needed: the cut is taken back";
  EXPECT_EQ(left_.counters().timeouts, 0u);
}

TEST_F(ReliableChannelTest, LossesOfOneWindowCutItOnce) {
  get_acquainted();
  while (left_.send(next_number_, 400)) ++next_number_;
  for (auto burst = left_.transmit(kStart); !burst.empty(); burst = left_.transmit(kStart)) {
    right_.receive_all(burst, kStart);
  }
  left_.receive_all(right_.transmit(kStart), kStart);
  ASSERT_TRUE(left_.channel().all_acknowledged());
  const std::uint64_t window = left_.channel().congestion().window();
  ASSERT_GE(window, 4 * tuning::kFewestBytesInFlight) << "two cuts would be seen";
  send(30);
  const auto packets = left_.transmit(kStart);
  for (const std::size_t lost : {0u, 10u}) {
    for (std::size_t arrived = lost + 1; arrived < lost + 10; ++arrived) {
      right_.receive(packets[arrived], kStart + arrived);
      left_.receive_all(right_.transmit(kStart + arrived), kStart + arrived);
    }
    EXPECT_EQ(left_.transmit(kStart + 20).size(), 1u) << "sent again, and lost again";
    EXPECT_EQ(left_.channel().congestion().window(), window / 2) << lost;
  }
}

TEST_F(ReliableChannelTest, AnOvertakenPacketLeavesAgainAfterAWhile) {
  get_acquainted();
  send(2);
  const auto packets = left_.transmit(kStart);
  right_.receive(packets[1], kStart + 1);
  EXPECT_EQ(right_.counters().early, 1u);
  left_.receive_all(right_.transmit(kStart + 1), kStart + 1);
  EXPECT_FALSE(left_.channel().has_transmissions()) << "one arrival may have overtaken it";
  const Nanoseconds patient_until = left_.channel().next_deadline();
  EXPECT_EQ(patient_until, kStart + left_.channel().round_trip().patience());
  left_.channel().run_timers(patient_until - 1);
  EXPECT_FALSE(left_.channel().has_transmissions());
  left_.channel().run_timers(patient_until);
  const auto again = left_.transmit(patient_until);
  ASSERT_EQ(again.size(), 1u);
  right_.receive_all(again, patient_until);
  EXPECT_EQ(right_.delivered, numbers(0, 3));
  EXPECT_EQ(left_.counters().timeouts, 0u);
}

TEST_F(ReliableChannelTest, PacketsWithShortHeadersAreCounted) {
  get_acquainted();
  const std::uint64_t before = right_.counters().packets_received;
  const PacketBytes packet = left_.pass(next_number_++, kStart);
  ASSERT_TRUE(wire::begins_short(packet.data()));
  right_.receive(packet, kStart);
  EXPECT_EQ(right_.delivered, numbers(0, 2));
  EXPECT_EQ(right_.counters().packets_received, before + 1);
}

TEST_F(ReliableChannelTest, DuplicatesAreCountedAndNotDelivered) {
  send(2);
  introduce(left_, right_);
  const auto packets = left_.transmit(kStart);
  for (int i = 0; i < 3; ++i) right_.receive_all(packets, kStart);
  EXPECT_EQ(right_.delivered, numbers(0, 2));
  EXPECT_EQ(right_.counters().duplicates, 4u);
  EXPECT_EQ(right_.transmit(kStart).size(), 1u);
}

TEST_F(ReliableChannelTest, SpuriousTimeoutIsTakenBack) {
  get_acquainted();
  send(1);
  right_.receive_all(left_.transmit(kStart), kStart);
  const std::uint64_t window = left_.channel().congestion().window();
  const Nanoseconds later = kStart + tuning::kShortestRetransmitTimeout;
  left_.channel().run_timers(later);
  EXPECT_LT(left_.channel().congestion().window(), window);
  right_.receive_all(left_.transmit(later), later);
  left_.receive_all(right_.transmit(later), later);
  EXPECT_EQ(left_.channel().congestion().window(), window);
  EXPECT_EQ(right_.delivered, numbers(0, 2));
}

TEST_F(ReliableChannelTest, RefusedPacketComesAgainAndBlocksTheOnesBehindIt) {
  get_acquainted();
  int refusals = 2;
  right_.refuse = [&](std::uint64_t number) { return number == 1 && refusals-- > 0; };
  send(3);
  right_.receive_all(left_.transmit(kStart), kStart);
  EXPECT_EQ(right_.delivered, numbers(0, 1));
  Nanoseconds now = kStart;
  while (!left_.channel().all_acknowledged()) {
    now = std::min(left_.channel().next_deadline(), right_.channel().next_deadline());
    ASSERT_LT(now, kStart + kSecond);
    now = std::max(now, kStart);
    left_.channel().run_timers(now);
    right_.receive_all(left_.transmit(now), now);
    left_.receive_all(right_.transmit(now), now);
  }
  EXPECT_EQ(right_.delivered, numbers(0, 4));
  EXPECT_EQ(right_.counters().refused, 2u);
}

TEST_F(ReliableChannelTest, ClosedWindowAsksForAnAcknowledgement) {
  get_acquainted();
  std::vector<PacketBytes> packets;
  while (left_.send(next_number_, 400)) ++next_number_;
  for (auto burst = left_.transmit(kStart); !burst.empty(); burst = left_.transmit(kStart)) {
    packets.insert(packets.end(), burst.begin(), burst.end());
  }
  ASSERT_GT(packets.size(), 100u);
  EXPECT_FALSE(left_.channel().has_room());
  EXPECT_TRUE(wire::asks_for_ack(packets.back().data()));
  right_.context().ack_threshold = 1'000'000;
  right_.receive_all(packets, kStart);
  EXPECT_TRUE(right_.channel().ack_due(kStart));
  left_.receive_all(right_.transmit(kStart), kStart);
  EXPECT_TRUE(left_.channel().has_room());
  EXPECT_TRUE(left_.channel().all_acknowledged());
}

TEST_F(ReliableChannelTest, RoundTripLeavesTheReceiversDelayOut) {
  get_acquainted();
  send(1);
  right_.receive_all(left_.transmit(kStart), kStart + 10 * kMicrosecond);
  const auto answer = right_.transmit(kStart + 60 * kMicrosecond);
  ASSERT_EQ(answer.size(), 1u);
  left_.receive_all(answer, kStart + 70 * kMicrosecond);
  EXPECT_LE(left_.channel().round_trip().smoothed(), 20 * kMicrosecond);
}

TEST_F(ReliableChannelTest, ReferencedDataTravelsWithoutACopy) {
  ASSERT_TRUE(left_.send(0, 300, true));
  ASSERT_TRUE(left_.send(1, 0, true));
  ASSERT_TRUE(left_.send(2, 77, true));
  EXPECT_EQ(left_.pool().in_use(), 0u);
  introduce(left_, right_);
  right_.receive_all(left_.transmit(kStart), kStart);
  EXPECT_EQ(right_.delivered, numbers(0, 3));
}

TEST_F(ReliableChannelTest, AbandonedPacketsAreSkippedByThePeer) {
  get_acquainted();
  send(3);
  const auto lost = left_.transmit(kStart);
  right_.receive(lost[2], kStart);
  left_.channel().abandon();
  left_.note_completed();
  EXPECT_EQ(left_.abandoned, numbers(1, 3));
  EXPECT_EQ(left_.channel().next_deadline(), UINT64_MAX);
  send(2);
  right_.receive_all(left_.transmit(kStart), kStart);
  EXPECT_EQ(right_.delivered, (std::vector<std::uint64_t>{0, 4, 5}));
  right_.receive_all(lost, kStart);
  EXPECT_EQ(right_.delivered.size(), 3u);
}

TEST_F(ReliableChannelTest, ImpossibleAcknowledgementIsMalformed) {
  get_acquainted();
  send(1);
  left_.transmit(kStart);
  right_.send(50);
  PacketBytes packet = right_.transmit(kStart).at(0);
  wire::PacketHeader header;
  ASSERT_EQ(wire::decode(packet, header), wire::DecodeResult::ok);
  header.cumulative_ack += 500;
  header.flags |= wire::kPacketHasAck;
  header.destination_epoch = 1;
  wire::encode(header, packet.data());
  left_.receive(packet, kStart);
  EXPECT_EQ(left_.counters().malformed, 1u);
  EXPECT_FALSE(left_.channel().all_acknowledged());
}

TEST_F(ReliableChannelTest, StrangersAndDamageNeverReachTheChannel) {
  ChannelEnd checked({.self = 1, .checksum = true});
  ChannelEnd sender({.self = 0, .checksum = true});
  ASSERT_TRUE(sender.send(0, 40));
  introduce(sender, checked);
  checked.counters() = {};
  const PacketBytes good = sender.transmit(kStart).at(0);
  for (std::size_t byte = 0; byte < good.size(); ++byte) {
    PacketBytes bad = good;
    bad[byte] ^= std::byte{0x10};
    checked.receive(bad, kStart);
  }
  checked.receive({}, kStart);
  checked.receive(PacketBytes(good.begin(), good.end() - 1), kStart);
  EXPECT_EQ(checked.counters().strangers, 29u) << "magic, version, and all that the association is made of";
  EXPECT_EQ(checked.counters().packets_received, 0u);
  EXPECT_EQ(checked.counters().malformed + checked.counters().damaged + checked.counters().strangers, good.size() + 2);
  EXPECT_TRUE(checked.delivered.empty());
  EXPECT_EQ(checked.channel().peer_epoch(), 0u);
  checked.receive(good, kStart);
  EXPECT_EQ(checked.delivered, numbers(0, 1));
}

TEST_F(ReliableChannelTest, PacketForAnotherTaskOrContextIsDropped) {
  send(1);
  const PacketBytes packet = left_.transmit(kStart).at(0);
  ChannelEnd third({.self = 0});
  third.receive(packet, kStart);
  right_.context().instance = 2;
  right_.receive(packet, kStart);
  EXPECT_EQ(third.counters().strangers, 1u) << "nobody else has its association";
  EXPECT_EQ(right_.counters().wrong_destination, 1u);
}

TEST_F(ReliableChannelTest, IdleChannelIsSmall) {
  EXPECT_LE(left_.channel().memory_bytes(), 1024u);
  get_acquainted();
  EXPECT_LE(left_.channel().memory_bytes(), 4096u);
  EXPECT_LE(right_.channel().memory_bytes(), 4096u);
}

TEST_F(ReliableChannelTest, AnAcknowledgementAloneIsAPacket) {
  get_acquainted();
  const std::uint64_t packets = right_.counters().packets_sent, acknowledgements = right_.counters().acks_sent;
  right_.acknowledgement(kStart);
  EXPECT_EQ(right_.counters().packets_sent, packets + 1);
  EXPECT_EQ(right_.counters().acks_sent, acknowledgements + 1);
}

}  // namespace
}  // namespace openlapi
