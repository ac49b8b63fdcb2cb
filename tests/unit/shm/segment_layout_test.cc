#include "shm/segment_layout.h"

#include <gtest/gtest.h>

namespace openlapi::shm {
namespace {

TEST(SegmentLayout, ControlWordKeepsItsParts) {
  const std::uint64_t control = make_control(0xffffffffull, 1023, 17408, 24 | kNearRoom);
  EXPECT_EQ(control_sequence(control), 0u);
  EXPECT_EQ(sender_source(control_sender(control)), 1023u);
  EXPECT_EQ(control_length(control), 17408u);
  EXPECT_EQ(control_start(control), 24u);
  EXPECT_TRUE(control_near(control));
  EXPECT_EQ(control_length(make_control(5, 0, 65528)), 65528u);
  EXPECT_FALSE(control_near(make_control(5, 1023, 65528, 56)));
  EXPECT_EQ(control_start(make_control(5, 1023, 65528, 56)), 56u);
}

TEST(SegmentLayout, WhatFollowsTheHeaderBeginsALine) {
  for (const std::size_t head : {8u, 32u, 40u, 56u, 64u, 120u, 128u}) {
    EXPECT_EQ((room_start(head) + head) % kCacheLine, 0u) << head;
    EXPECT_LT(room_start(head), kCacheLine);
  }
  EXPECT_EQ(room_start(13) % 8, 0u);
}

TEST(SegmentLayout, IntentCoversItsTicketsAlsoAcrossTheWrap) {
  EXPECT_FALSE(intent_covers(0, 0));
  const std::uint64_t intent = make_intent(10, 3);
  EXPECT_FALSE(intent_covers(intent, 9));
  EXPECT_TRUE(intent_covers(intent, 10));
  EXPECT_TRUE(intent_covers(intent, 12));
  EXPECT_FALSE(intent_covers(intent, 13));
  const std::uint64_t last = kTicketMask;
  EXPECT_TRUE(intent_covers(make_intent(last, 2), last + 1));
}

TEST(SegmentLayout, RoomsAreDisjointAndAnOddNumberOfLinesApart) {
  for (const std::uint32_t bytes : {64u, 1024u, 17408u, 65528u}) {
    const GroupLayout layout{3, 128, bytes};
    EXPECT_GE(layout.room_stride(), bytes + kCacheLine - 8);
    EXPECT_GE(layout.rooms_offset(), layout.near_rooms_offset() + kNearRooms * layout.room_stride());
    EXPECT_EQ(layout.room_stride() / kCacheLine % 2, 1u);
    EXPECT_LE(layout.rooms_offset() + 128 * layout.room_stride(), layout.segment_size());
    EXPECT_EQ(layout.segment_size() % kPage, 0u);
  }
}

// As lapi(7) says at LAPI_USE_SHM, and lapi-tuning(7).
TEST(SegmentLayout, ATaskAndAPairTakeWhatIsStated) {
  constexpr std::uint64_t kPair = 72;
  const GroupLayout alone{1, kDefaultShmSlots, kDefaultShmPacket};
  const GroupLayout full{kMaxShmTasks, kDefaultShmSlots, kDefaultShmPacket};
  EXPECT_EQ(full.eras_offset() + kMaxShmTasks * sizeof(Era) - full.senders_offset(), kMaxShmTasks * kPair);
  EXPECT_LE(full.segment_size(), alone.segment_size() + kMaxShmTasks * kPair + kPage);
  EXPECT_LE(alone.segment_size(), 2'600'000u);
  EXPECT_LE(alone.rooms_offset(), 300'000u);  // what is touched while no packet lies in a far room
  EXPECT_EQ(full.group_size(), sizeof(GroupHeader) + kMaxShmTasks * full.segment_size());
}

}  // namespace
}  // namespace openlapi::shm
