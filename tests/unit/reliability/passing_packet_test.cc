// Packets that nothing waits in front of: they take a shorter way through the channel, and nobody can tell.
#include <gtest/gtest.h>

#include "tests/unit/reliability/channel_end.h"

namespace openlapi {
namespace {

constexpr Nanoseconds kStart = kSecond;
constexpr std::uint8_t kAckWanted = wire::kPacketAckWanted;

std::uint8_t flags_of(const PacketBytes& packet) { return header_of(packet).flags; }

// Whether two packets say the same, the second with the long header.
void expect_same(const PacketBytes& packet, const PacketBytes& queued) {
  const wire::PacketHeader header = header_of(packet), other = header_of(queued);
  ASSERT_FALSE(other.is_short());
  if (!header.is_short()) {
    ASSERT_EQ(packet, queued);
    return;
  }
  ASSERT_EQ(header.flags & ~wire::kPacketShort, other.flags);
  ASSERT_EQ(header.source, other.source);
  ASSERT_EQ(header.sequence, other.sequence);
  ASSERT_EQ(header.ahead, other.ahead);
  ASSERT_EQ(header.cumulative_ack, other.cumulative_ack);
  ASSERT_EQ(header.ack_delay, other.ack_delay);
  ASSERT_EQ(header.association, other.association);
  ASSERT_EQ(other.selective_ack, 0u);
  ASSERT_EQ(PacketBytes(packet.begin() + wire::kShortHeaderSize, packet.end()),
            PacketBytes(queued.begin() + wire::kPacketHeaderSize, queued.end()));
}

// Two tasks that were told each other's incarnation.
struct Pair {
  explicit Pair(bool checksum = false)
      : left({.self = 0, .epochs = {0, 1}, .checksum = checksum}),
        right({.self = 1, .epochs = {0, 1}, .checksum = checksum}) {}
  ChannelEnd left;
  ChannelEnd right;
};

class PassingPacket : public testing::TestWithParam<bool> {};

// But for a short header; every length, every part of a window, with and without something to acknowledge.
TEST_P(PassingPacket, IsTheSameAsOneThatWasQueued) {
  Pair passing(GetParam()), queued(GetParam());
  Nanoseconds now = kStart;
  unsigned with_short_header = 0;
  // The first makes room for others in the window's ring.
  for (Pair* pair : {&passing, &queued}) {
    ASSERT_TRUE(pair->left.send(0));
    pair->right.receive_all(pair->left.transmit(now), now);
  }
  for (std::uint64_t number = 1; number <= 2000; ++number, now += 700) {
    const auto extra = static_cast<std::uint32_t>(number % 400);
    PacketBytes packet;
    if (!passing.left.channel().may_pass()) {  // the ring is full: it grows for both
      ASSERT_TRUE(passing.left.send(number, extra));
      packet = passing.left.transmit(now).at(0);
    } else {
      packet = passing.left.pass(number, now, extra);
      ASSERT_EQ(passing.left.channel().packets_out(), queued.left.channel().packets_out() + 1);
    }
    ASSERT_TRUE(queued.left.send(number, extra));
    const auto packets = queued.left.transmit(now);
    ASSERT_EQ(packets.size(), 1u);
    expect_same(packet, packets[0]);
    if (HasFatalFailure()) return;
    if (header_of(packet).is_short()) ++with_short_header;
    passing.right.receive(packet, now);
    queued.right.receive(packets[0], now);
    ASSERT_EQ(passing.left.channel().next_deadline(), queued.left.channel().next_deadline());
    if (number % 13 == 0 || !passing.left.channel().has_room()) {
      for (Pair* pair : {&passing, &queued}) {
        ASSERT_TRUE(pair->right.send(5000 + number));
        pair->left.receive_all(pair->right.transmit(now + 100), now + 200);
      }
    }
  }
  EXPECT_GE(with_short_header, GetParam() ? 0u : 1900u);
  EXPECT_LE(with_short_header, GetParam() ? 0u : 2000u);
  EXPECT_EQ(passing.right.delivered, queued.right.delivered);
  EXPECT_EQ(passing.left.delivered, queued.left.delivered);
  EXPECT_EQ(passing.left.counters().packets_sent, queued.left.counters().packets_sent);
  EXPECT_EQ(passing.left.counters().retransmits, 0u);
  EXPECT_EQ(passing.left.channel().round_trip().smoothed(), queued.left.channel().round_trip().smoothed());
  for (Pair* pair : {&passing, &queued}) {
    pair->left.receive(pair->right.acknowledgement(now), now);
    pair->right.receive(pair->left.acknowledgement(now), now);
    EXPECT_TRUE(pair->left.channel().all_acknowledged());
  }
}

INSTANTIATE_TEST_SUITE_P(Checksum, PassingPacket, testing::Bool());

TEST(PassingPacketAlone, IsSentAgainWhenItIsLost) {
  Pair pair;
  ASSERT_TRUE(pair.left.send(0));
  pair.right.receive_all(pair.left.transmit(kStart), kStart);
  pair.left.receive(pair.right.acknowledgement(kStart), kStart);
  ASSERT_TRUE(pair.left.channel().may_pass());
  pair.left.pass(1, kStart);
  const Nanoseconds late = pair.left.channel().next_deadline();
  ASSERT_NE(late, UINT64_MAX);
  pair.left.channel().run_timers(late);
  EXPECT_FALSE(pair.left.channel().may_pass()) << "the lost one goes first";
  pair.right.receive_all(pair.left.transmit(late), late);
  EXPECT_EQ(pair.right.delivered, (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(pair.left.counters().retransmits, 1u);
  pair.left.receive(pair.right.acknowledgement(late), late);
  EXPECT_TRUE(pair.left.channel().may_pass());
}

TEST(PassingPacketAlone, NeedsAnOpenWayToAKnownPeer) {
  ChannelEnd stranger({.self = 0});
  EXPECT_FALSE(stranger.channel().may_pass());
  Pair pair;
  EXPECT_FALSE(pair.left.channel().may_pass()) << "the first packet makes the ring";
  ASSERT_TRUE(pair.left.send(0));
  EXPECT_FALSE(pair.left.channel().may_pass()) << "one waits";
  pair.left.transmit(kStart);
  EXPECT_TRUE(pair.left.channel().may_pass());
  pair.left.channel().abandon();
  pair.left.note_completed();
}

// The last one that the window has room for asks for an answer, or the sender would wait for the receiver's batch.
TEST(PassingPacketAlone, AsksForAnAnswerWhenNoneCanFollow) {
  Pair pair;
  ASSERT_TRUE(pair.left.send(0));
  pair.left.transmit(kStart);
  std::uint64_t number = 1;
  std::vector<std::uint8_t> asked;
  while (pair.left.channel().has_room()) {
    if (pair.left.channel().may_pass()) {
      asked.push_back(flags_of(pair.left.pass(number, kStart, 400)) & kAckWanted);
    } else {
      ASSERT_TRUE(pair.left.send(number, 400));
      pair.left.transmit(kStart);
      asked.push_back(0);
    }
    ++number;
  }
  EXPECT_EQ(asked.back(), kAckWanted);
  EXPECT_GE(std::count(asked.begin(), asked.end(), kAckWanted), 2) << "and one in the middle of the window";
  EXPECT_LE(std::count(asked.begin(), asked.end(), kAckWanted), 4);
  pair.left.channel().abandon();
  pair.left.note_completed();
}

}  // namespace
}  // namespace openlapi
