// Short headers: which packets have one, and that they are only taken by whom they are meant for.
#include <gtest/gtest.h>

#include "tests/unit/reliability/channel_end.h"

namespace openlapi {
namespace {

constexpr Nanoseconds kStart = kSecond;

bool is_short(const PacketBytes& packet) {
  wire::PacketHeader header;
  EXPECT_EQ(wire::decode(packet, header), wire::DecodeResult::ok);
  return header.is_short();
}

// Two tasks that were told each other's incarnation, and of which the left one has sent the first packet.
class ShortHeader : public testing::Test {
 protected:
  ShortHeader() {
    EXPECT_TRUE(left_.send(0));
    right_.receive_all(left_.transmit(kStart), kStart);
  }
  ~ShortHeader() override {
    for (ChannelEnd* end : {&left_, &right_}) {
      end->channel().abandon();
      end->note_completed();
    }
  }

  void introduce() { left_.receive(right_.acknowledgement(kStart), kStart); }

  ChannelEnd left_{{.self = 0, .epochs = {0, 1}}};
  ChannelEnd right_{{.self = 1, .epochs = {0, 1}}};
};

TEST_F(ShortHeader, IsForThoseWhoHaveAnswered) {
  const PacketBytes before = left_.pass(1, kStart);
  EXPECT_FALSE(is_short(before));
  right_.receive(before, kStart);
  introduce();
  const PacketBytes after = left_.pass(2, kStart);
  EXPECT_TRUE(is_short(after));
  EXPECT_EQ(before.size() - after.size(), wire::kPacketHeaderSize - wire::kShortHeaderSize);
  right_.receive(after, kStart);
  EXPECT_EQ(right_.delivered, numbers(0, 3));
}

TEST_F(ShortHeader, AcknowledgesLikeALongOne) {
  introduce();
  ASSERT_TRUE(right_.send(100));
  left_.receive_all(right_.transmit(kStart), kStart);
  EXPECT_FALSE(right_.channel().all_acknowledged());
  const PacketBytes packet = left_.pass(1, kStart + 3000);
  ASSERT_TRUE(is_short(packet));
  right_.receive(packet, kStart + 5000);
  EXPECT_TRUE(right_.channel().all_acknowledged());
  EXPECT_EQ(right_.channel().round_trip().shortest(), 2000u) << "without the time that the left one has waited";
}

TEST_F(ShortHeader, IsTakenOnce) {
  introduce();
  const PacketBytes packet = left_.pass(1, kStart);
  right_.receive(packet, kStart);
  right_.receive(packet, kStart);
  EXPECT_EQ(right_.delivered, numbers(0, 2));
  EXPECT_EQ(right_.counters().duplicates, 1u);
}

TEST_F(ShortHeader, IsNoPlaceForMoreThanOneNumber) {
  introduce();
  ASSERT_TRUE(right_.send(100));
  ASSERT_TRUE(right_.send(101));
  const auto packets = right_.transmit(kStart);
  left_.receive(packets.at(1), kStart);  // the first one is missing
  EXPECT_FALSE(is_short(left_.pass(1, kStart))) << "a selective acknowledgement";
  left_.receive(packets.at(0), kStart);
  EXPECT_EQ(left_.delivered, (std::vector<std::uint64_t>{100, 101}));
  EXPECT_TRUE(is_short(left_.pass(2, kStart)));
}

TEST_F(ShortHeader, IsNotSentAgain) {
  introduce();
  ASSERT_TRUE(is_short(left_.pass(1, kStart)));
  const Nanoseconds late = left_.channel().next_deadline();
  left_.channel().run_timers(late);
  const auto again = left_.transmit(late);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_FALSE(is_short(again[0])) << "the peer may have lost what a short one needs";
  right_.receive_all(again, late);
  EXPECT_EQ(right_.delivered, numbers(0, 2));
}

TEST_F(ShortHeader, WaitsForANewAnswerBehindAGap) {
  introduce();
  left_.pass(1, kStart);
  left_.channel().abandon();
  left_.note_completed();
  const PacketBytes next = left_.pass(2, kStart);
  EXPECT_FALSE(is_short(next));
  right_.receive(next, kStart);
  EXPECT_EQ(right_.delivered, (std::vector<std::uint64_t>{0, 2}));
  introduce();
  EXPECT_TRUE(is_short(left_.pass(3, kStart)));
}

// A peer that was lost and has come back does not take it; the long header of its retransmission finds that out.
TEST_F(ShortHeader, IsAGhostToAnotherIncarnation) {
  introduce();
  const PacketBytes packet = left_.pass(1, kStart);
  ASSERT_TRUE(is_short(packet));
  for (const Epoch known : {Epoch{0}, Epoch{1}}) {
    ChannelEnd reborn({.self = 1, .epoch = 2, .epochs = {0, known}});
    reborn.receive(packet, kStart);
    EXPECT_TRUE(reborn.delivered.empty());
    EXPECT_EQ(reborn.counters().ghosts, 1u);
    EXPECT_TRUE(reborn.transmit(kStart).empty()) << "nobody answers it";
  }
  ChannelEnd reborn({.self = 1, .epoch = 2, .epochs = {0, 1}});
  const Nanoseconds late = left_.channel().next_deadline();
  left_.channel().run_timers(late);
  reborn.receive_all(left_.transmit(late), late);
  left_.receive_all(reborn.transmit(late), late);
  EXPECT_EQ(left_.restarts_seen, 1u);
  EXPECT_EQ(left_.channel().peer_epoch(), 2u);
  ASSERT_TRUE(left_.send(2));
  reborn.receive_all(left_.transmit(late), late);
  EXPECT_EQ(reborn.delivered, (std::vector<std::uint64_t>{2}));
}

TEST_F(ShortHeader, IsAGhostFromAnotherIncarnation) {
  introduce();
  const PacketBytes late_one = left_.pass(1, kStart);
  ChannelEnd reborn({.self = 0, .epoch = 2, .epochs = {0, 1}});
  ASSERT_TRUE(reborn.send(50));
  right_.receive_all(reborn.transmit(kStart), kStart);
  EXPECT_EQ(right_.restarts_seen, 1u);
  right_.receive(late_one, kStart);
  EXPECT_EQ(right_.delivered, (std::vector<std::uint64_t>{0, 50}));
  EXPECT_EQ(right_.counters().ghosts, 1u);
  reborn.channel().abandon();
  reborn.note_completed();
}

TEST_F(ShortHeader, IsMalformedWhereChecksumsAreDue) {
  introduce();
  const PacketBytes packet = left_.pass(1, kStart);
  ChannelEnd careful({.self = 1, .epochs = {0, 1}, .checksum = true});
  careful.receive(packet, kStart);
  EXPECT_EQ(careful.counters().malformed, 1u);
  EXPECT_EQ(careful.counters().packets_received, 0u);
  PacketBytes longer = packet;
  longer.resize(careful.context().max_packet + 8);
  right_.receive(longer, kStart);
  EXPECT_EQ(right_.counters().malformed, 1u);
  EXPECT_EQ(right_.delivered, numbers(0, 1));
}

}  // namespace
}  // namespace openlapi
