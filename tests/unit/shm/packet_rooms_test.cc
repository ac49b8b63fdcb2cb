// Packets that need rooms, and bursts of them, in the queue between senders and its owner.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "shm/receive_queue.h"
#include "shm/send_queue.h"

namespace openlapi::shm {
namespace {

constexpr PeerIndex kTasks[] = {10, 20, 30};

// Packets that need rooms, with their senders and numbers in every byte.
class Rooms : public testing::Test {
 protected:
  static constexpr std::uint32_t kSlots = 64;
  static constexpr std::size_t kHead = 40;
  static constexpr std::size_t kData = 160;

  Rooms() : memory_(GroupMemory::create(layout_, 1, 10, error_)) {}

  bool send(std::uint32_t source, std::uint8_t number) {
    const std::vector<std::uint8_t> head(kHead, static_cast<std::uint8_t>(source)), data(kData, number);
    const ConstBuffer pieces[] = {{head.data(), kHead}, {data.data(), kData}};
    const OutgoingPacket packet{pieces, kHead + kData};
    return senders_[source].send({&packet, 1}) == 1;
  }

  // Whether the packet is what `send(source, number)` sent, its data at a line's beginning.
  static bool is(const IncomingPacket& packet, std::uint32_t source, std::uint8_t number) {
    bool same = packet.source == kTasks[source] && packet.length == kHead + kData &&
                reinterpret_cast<std::uintptr_t>(packet.data + kHead) % kCacheLine == 0;
    for (std::size_t i = 0; same && i < packet.length; ++i) {
      same = packet.data[i] == static_cast<std::byte>(i < kHead ? source : number);
    }
    return same;
  }

  // Packets that are announced, from ticket `first` on, in a near room.
  std::size_t near(std::uint64_t first, std::size_t count) const {
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i) {
      found += control_near(segment_.lines[(first + i) % kSlots].control.load()) ? 1 : 0;
    }
    return found;
  }

  ShmSetupError error_;
  const GroupLayout layout_{3, kSlots, 256};
  GroupMemory memory_;
  SegmentView segment_ = memory_.segment(0);
  SendQueue senders_[3] = {{segment_, layout_, 0}, {segment_, layout_, 1}, {segment_, layout_, 2}};
  ReceiveQueue queue_{segment_, layout_, kTasks};
};

TEST(CopyInline, WritesItsBytesAndNoOthers) {
  constexpr std::size_t kAround = kInlineBytes;
  constexpr std::byte kOther{0xee};
  std::array<std::byte, 3 * kAround> source{}, target{};
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i + 1);
  for (std::size_t length = 0; length <= kInlineBytes; ++length) {
    target.fill(kOther);
    copy_inline(target.data() + kAround, source.data() + kAround, length);
    for (std::size_t i = 0; i < target.size(); ++i) {
      const bool inside = i >= kAround && i < kAround + length;
      ASSERT_EQ(target[i], inside ? source[i] : kOther) << length << " bytes, byte " << i;
    }
  }
}

TEST_F(Rooms, FewPacketsUseTheNearOnesByTurns) {
  for (unsigned i = 0; i < 1000; ++i) {
    IncomingPacket packet{};
    ASSERT_TRUE(send(i % 3, static_cast<std::uint8_t>(i)));
    ASSERT_EQ(queue_.receive({&packet, 1}), 1u);
    ASSERT_TRUE(is(packet, i % 3, static_cast<std::uint8_t>(i)));
    queue_.release(1);
    ASSERT_EQ(queue_.receive({&packet, 1}), 0u);  // empty: now the senders may know
    ASSERT_EQ(near(i, 1), 1u) << i;
  }
}

TEST_F(Rooms, ManyPacketsUseBothAndOverwriteNothing) {
  std::array<IncomingPacket, kSlots> packets{};
  std::uint64_t ticket = 0;
  for (unsigned round = 0; round < 20; ++round) {
    for (unsigned i = 0; i < kSlots; ++i) ASSERT_TRUE(send(i % 3, static_cast<std::uint8_t>(round + i)));
    EXPECT_EQ(near(ticket, kNearRooms / 2), kNearRooms / 2) << round;
    EXPECT_LE(near(ticket, kSlots), kNearRooms) << round;
    ASSERT_EQ(queue_.receive(packets), kSlots);
    for (unsigned i = 0; i < kSlots; ++i) ASSERT_TRUE(is(packets[i], i % 3, static_cast<std::uint8_t>(round + i)));
    queue_.release(kSlots);
    IncomingPacket none{};
    ASSERT_EQ(queue_.receive({&none, 1}), 0u);
    ticket += kSlots;
  }
}

// Of every length, in one piece and in several, in bursts that wrap round.
TEST_F(Rooms, BurstsArriveByteForByte) {
  std::vector<std::uint8_t> bytes(256);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + 1);
  for (std::uint32_t length = 1; length <= 256; ++length) {
    const std::uint32_t third = length / 3;
    const ConstBuffer whole{bytes.data(), length};
    const ConstBuffer pieces[] = {
        {bytes.data(), third}, {bytes.data() + third, third}, {bytes.data() + 2 * third, length - 2 * third}};
    const std::uint64_t number = length;
    const ConstBuffer small{&number, sizeof number};
    const OutgoingPacket burst[] = {
        {{&whole, 1}, length}, {pieces, length}, {{&small, 1}, sizeof number}, {pieces, length}, {{&whole, 1}, length}};
    ASSERT_EQ(senders_[length % 3].send(burst), 5u);
    EXPECT_EQ(segment_.senders[length % 3].claim.load(), 0u) << "what it has announced it does not claim";
    std::array<IncomingPacket, 8> packets{};
    ASSERT_EQ(queue_.receive(packets), 5u);
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(packets[i].source, kTasks[length % 3]);
      EXPECT_EQ(packets[i].origin, 0u) << "a task of this node has no address";
      ASSERT_EQ(packets[i].length, i == 2 ? sizeof number : length);
      const void* const sent = i == 2 ? static_cast<const void*>(&number) : bytes.data();
      ASSERT_EQ(std::memcmp(packets[i].data, sent, packets[i].length), 0) << length << " bytes, packet " << i;
    }
    queue_.release(5);
    ASSERT_EQ(queue_.receive(packets), 0u);
  }
}

TEST_F(Rooms, ABurstGetsAsManySlotsAsThereAre) {
  const std::uint64_t value = 1;
  const ConstBuffer piece{&value, sizeof value};
  const std::vector<OutgoingPacket> burst(kSlots + 3, {{&piece, 1}, sizeof value});
  EXPECT_EQ(senders_[0].send({}), 0u);
  EXPECT_EQ(senders_[0].send(std::span(burst).first(kSlots - 2)), kSlots - 2);
  EXPECT_EQ(senders_[1].send(burst), 2u);
  EXPECT_EQ(segment_.senders[1].claim.load(), 0u);
  EXPECT_EQ(senders_[1].send(burst), 0u);
  std::array<IncomingPacket, kSlots> packets{};
  EXPECT_EQ(queue_.receive(packets), kSlots);
}

TEST_F(Rooms, AHeldPacketKeepsItsNearRoom) {
  IncomingPacket held{};
  ASSERT_TRUE(send(0, 1));
  ASSERT_EQ(queue_.receive({&held, 1}), 1u);
  for (unsigned i = 1; i < kSlots; ++i) ASSERT_TRUE(send(i % 3, 2));
  EXPECT_FALSE(send(1, 3));
  EXPECT_TRUE(is(held, 0, 1));
  EXPECT_EQ(near(0, kSlots), kNearRooms);
}

}  // namespace
}  // namespace openlapi::shm
