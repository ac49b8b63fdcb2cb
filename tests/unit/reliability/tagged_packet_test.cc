// Channels whose packets carry tags: nothing of what somebody sees on the way can be used a second time, or for
// anything else.
#include <gtest/gtest.h>

#include "dataplane/wire/association.h"
#include "dataplane/wire/packet_tag.h"
#include "tests/unit/reliability/channel_end.h"

namespace openlapi {
namespace {

constexpr Nanoseconds kStart = kSecond;

// Two tasks that were told each other's incarnation and have spoken: the left one sends short headers.
class TaggedPacket : public testing::Test {
 protected:
  TaggedPacket() {
    EXPECT_TRUE(left_.send(0));
    right_.receive_all(left_.transmit(kStart), kStart);
    left_.receive(right_.acknowledgement(kStart), kStart);
  }
  ~TaggedPacket() override {
    for (ChannelEnd* end : {&left_, &right_}) {
      end->channel().abandon();
      end->note_completed();
    }
  }

  // Of what the left one sends to the right one.
  static std::uint64_t association_of_pair() {
    wire::PacketHeader header;
    header.instance = 1;
    header.source = 0;
    header.destination = 1;
    header.source_epoch = header.destination_epoch = 1;
    return wire::association_of(ChannelEnd::kJobKey, header);
  }

  std::uint64_t dropped() const {
    const ReliabilityCounters& counters = right_.counters();
    return counters.strangers + counters.malformed + counters.ghosts + counters.damaged;
  }

  // `count` messages from `first` on, each acknowledged.
  void exchange(std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t number = first; number < first + count; ++number) {
      right_.receive(left_.pass(number, kStart), kStart);
      left_.receive(right_.acknowledgement(kStart), kStart);
    }
  }

  // Each bit of it is needed.
  void expect_whole(const PacketBytes& packet) {
    const std::size_t delivered = right_.delivered.size();
    for (std::size_t bit = 0; bit < 8 * packet.size(); ++bit) {
      PacketBytes changed = packet;
      changed[bit / 8] ^= std::byte{1} << bit % 8;
      const std::uint64_t before = dropped();
      right_.receive(changed, kStart);
      ASSERT_EQ(dropped(), before + 1) << "bit " << bit;
    }
    ASSERT_EQ(right_.delivered.size(), delivered);
    right_.receive(packet, kStart);
    ASSERT_EQ(right_.delivered.size(), delivered + 1);
  }

  // Six numbers are left before they wrap round, of which the first packet has used one.
  static constexpr Sequence kFirst = UINT32_MAX - 5;
  mutable ChannelEnd left_{{.self = 0, .first_sequence = kFirst, .epochs = {0, 1}, .tagged = true}};
  mutable ChannelEnd right_{{.self = 1, .first_sequence = kFirst, .epochs = {0, 1}, .tagged = true}};
};

TEST_F(TaggedPacket, IsNothingWhenAnyBitIsChanged) {
  const PacketBytes passed = left_.pass(1, kStart, 21);
  EXPECT_TRUE(header_of(passed).is_short());
  expect_whole(passed);
  ASSERT_TRUE(left_.send(2, 33, true));
  const auto queued = left_.transmit(kStart);
  ASSERT_EQ(queued.size(), 1u);
  EXPECT_FALSE(header_of(queued[0]).is_short());
  expect_whole(queued[0]);
}

TEST_F(TaggedPacket, DoesNotShowAnythingOfTheAssociation) {
  const wire::PacketHeader first = header_of(left_.pass(1, kStart)), second = header_of(left_.pass(2, kStart));
  EXPECT_NE(first.association, second.association);
  EXPECT_NE(first.association, association_of_pair());
}

// What a channel remembers its peer by.
TEST_F(TaggedPacket, HasNoAssociationInThePlaceOfItsTag) {
  const PacketBytes packet = left_.pass(1, kStart);
  ASSERT_TRUE(header_of(packet).is_short());
  PacketBytes forged = packet;
  wire::store_tag(forged.data(), association_of_pair());
  right_.receive(forged, kStart);
  EXPECT_EQ(right_.counters().ghosts, 1u);
  EXPECT_EQ(right_.delivered, numbers(0, 1));
  right_.receive(packet, kStart);
  EXPECT_EQ(right_.delivered, numbers(0, 2));
}

TEST_F(TaggedPacket, IsTakenOnce) {
  const PacketBytes packet = left_.pass(1, kStart);
  right_.receive(packet, kStart);
  right_.receive(packet, kStart);
  EXPECT_EQ(right_.delivered, numbers(0, 2));
  EXPECT_EQ(right_.counters().duplicates, 1u);
}

TEST_F(TaggedPacket, GoesOnWhenItsNumbersWrapRound) {
  exchange(1, 19);
  EXPECT_EQ(right_.delivered, numbers(0, 20));
  ASSERT_TRUE(left_.send(20));
  right_.receive_all(left_.transmit(kStart), kStart);
  EXPECT_EQ(right_.delivered, numbers(0, 21)) << "with a long header as well";
}

// On either side of the wrap, in whatever order they come.
TEST_F(TaggedPacket, IsTakenOutOfOrderWhereNumbersWrapRound) {
  std::vector<PacketBytes> packets;
  for (std::uint64_t number = 1; number < 10; ++number) packets.push_back(left_.pass(number, kStart));
  for (std::size_t index = packets.size(); index > 0; --index) right_.receive(packets[index - 1], kStart);
  EXPECT_EQ(right_.delivered, numbers(0, 10));
  right_.receive_all(packets, kStart);
  EXPECT_EQ(right_.counters().duplicates, packets.size());
  EXPECT_EQ(dropped(), 0u);
}

// Somebody has kept a packet for as long as all numbers take.
TEST_F(TaggedPacket, IsRefusedAfterItsNumberHasComeRound) {
  exchange(1, 9);
  wire::PacketHeader header;
  header.instance = 1;
  header.destination = 1;
  header.source_epoch = header.destination_epoch = 1;
  const SipKey key = wire::tag_key_of(ChannelEnd::kJobKey, header);
  header.sequence = kFirst + 10;
  for (const std::uint8_t form : {wire::kPacketShort, std::uint8_t{0}}) {
    header.flags = wire::kPacketHasData | form;
    PacketBytes packet(header.size() + 8);
    header.length = static_cast<std::uint16_t>(packet.size());
    for (const std::uint32_t wraps : {0u, 2u}) {
      if (form == 0) header.wraps() = wraps;
      wire::encode(header, packet.data());
      wire::store_tag(packet.data(), wire::packet_tag(key, wraps, packet, {}));
      const std::uint64_t before = dropped();
      right_.receive(packet, kStart);
      EXPECT_EQ(dropped(), before + 1);
    }
  }
  EXPECT_EQ(right_.delivered, numbers(0, 10));
  right_.receive(left_.pass(10, kStart), kStart);
  EXPECT_EQ(right_.delivered, numbers(0, 11));
}

TEST_F(TaggedPacket, IsAGhostToOtherIncarnations) {
  const PacketBytes packet = left_.pass(1, kStart);
  ChannelEnd reborn({.self = 1, .epoch = 2, .first_sequence = kFirst, .epochs = {0, 1}, .tagged = true});
  reborn.receive(packet, kStart);
  EXPECT_TRUE(reborn.delivered.empty());
  EXPECT_EQ(reborn.counters().ghosts, 1u);
  const Nanoseconds late = left_.channel().next_deadline();
  left_.channel().run_timers(late);
  reborn.receive_all(left_.transmit(late), late);
  left_.receive_all(reborn.transmit(late), late);
  EXPECT_EQ(left_.restarts_seen, 1u) << "but a long header is answered";
  EXPECT_EQ(left_.channel().peer_epoch(), 2u);
}

// One of the two was told to use tags, the other one not.
TEST_F(TaggedPacket, IsNotMixedWithOthers) {
  ChannelEnd plain({.self = 1, .first_sequence = kFirst, .epochs = {0, 1}});
  plain.receive(left_.pass(1, kStart), kStart);
  ASSERT_TRUE(left_.send(2));
  plain.receive_all(left_.transmit(kStart), kStart);
  EXPECT_TRUE(plain.delivered.empty());
  ASSERT_TRUE(plain.send(7));
  left_.receive_all(plain.transmit(kStart), kStart);
  EXPECT_TRUE(left_.delivered.empty());
  plain.channel().abandon();
  plain.note_completed();
}

}  // namespace
}  // namespace openlapi
