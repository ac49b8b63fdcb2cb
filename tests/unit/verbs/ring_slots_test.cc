#include "nic/verbs/ring_slots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace openlapi::verbs {
namespace {

// A sender's and a receiver's side, and the memory between them.
struct Ring {
  explicit Ring(std::uint32_t epoch) : writer(epoch), reader(memory.data(), epoch) {}

  bool has_room() const { return writer.has_room(static_cast<std::uint32_t>(reader.taken())); }

  SlotImage compose(const std::string& text) {
    const ConstBuffer pieces[] = {{text.data(), text.size() / 2},
                                  {text.data() + text.size() / 2, text.size() - text.size() / 2}};
    SlotImage image;
    writer.compose({pieces, static_cast<std::uint32_t>(text.size())}, image);
    writer.next();
    return image;
  }
  // The bytes of the image from `from` on, as an adapter places them.
  void place(const SlotImage& image, std::size_t from, std::size_t to = kRingSlotBytes) {
    std::copy_n(image.bytes.begin() + static_cast<std::ptrdiff_t>(from), to - from,
                memory.begin() + static_cast<std::ptrdiff_t>(image.place - image.begin + from));
  }
  void write(const std::string& text) {
    const SlotImage image = compose(text);
    place(image, image.begin);
  }
  std::string take() {
    alignas(8) std::byte packet[kLongestInRing];
    const std::uint32_t length = reader.take(packet);
    return length == SlotReader::kNothing ? "nothing" : std::string(reinterpret_cast<char*>(packet), length);
  }

  alignas(64) std::array<std::byte, kRingBytes> memory{};
  SlotWriter writer;
  SlotReader reader;
};

TEST(RingSlots, PacketsOfAllLengthsComeAsTheyWereForManyLaps) {
  Ring ring(77);
  EXPECT_EQ(ring.take(), "nothing") << "memory of zeroes";
  for (std::uint32_t number = 0; number < 40 * kRingSlots; ++number) {
    const std::string text(number % (kLongestInRing + 1), static_cast<char>('a' + number % 26));
    ASSERT_TRUE(ring.has_room());
    ring.write(text);
    ASSERT_EQ(ring.take(), text) << number;
    ASSERT_EQ(ring.take(), "nothing") << number;
  }
}

TEST(RingSlots, AFullRingHasRoomWhenOneIsTaken) {
  Ring ring(1);
  for (std::uint32_t lap = 0; lap < 3; ++lap) {
    for (std::uint32_t i = 0; ring.has_room(); ++i) ring.write(std::to_string(i));
    EXPECT_EQ(ring.writer.written() - ring.reader.taken(), kRingSlots);
    for (std::uint32_t i = 0; i < kRingSlots; ++i) {
      EXPECT_EQ(ring.take(), std::to_string(i));
      EXPECT_TRUE(ring.has_room());
    }
    EXPECT_EQ(ring.take(), "nothing");
  }
}

TEST(RingSlots, WhatIsTakenIsComparedIn32Bits) {
  SlotWriter writer;
  SlotImage image;
  for (std::uint32_t i = 0; i < 5; ++i) writer.next();
  EXPECT_TRUE(writer.has_room(5));
  EXPECT_TRUE(writer.has_room(5 - kRingSlots + 1));
  EXPECT_FALSE(writer.has_room(5 - kRingSlots));
}

// One of an earlier ring at the same place, or of an earlier lap.
TEST(RingSlots, OldSlotsAreNoPackets) {
  Ring old(5);
  for (std::uint32_t i = 0; i < kRingSlots; ++i) old.write("old");
  Ring anew(6);
  anew.memory = old.memory;
  EXPECT_EQ(anew.take(), "nothing");
  for (std::uint32_t i = 0; i < kRingSlots; ++i) EXPECT_EQ(old.take(), "old");
  EXPECT_EQ(old.take(), "nothing") << "the first slot is the last lap's";
  anew.write("new");
  EXPECT_EQ(anew.take(), "new");
  EXPECT_EQ(anew.take(), "nothing");
}

TEST(RingSlots, EpochsAreNotZeroAndDifferBetweenRingsOfAConnection) {
  EXPECT_NE(ring_epoch(0, 0), 0u);
  EXPECT_NE(ring_epoch(0x123456789, 0x7f0000001000), ring_epoch(0x123456789, 0x7f0000001080));
}

TEST(RingSlots, LieAtTheirSlotsEndAndAtWords) {
  Ring ring(0x01020304);
  ring.compose("first");
  const SlotImage image = ring.compose("twelve bytes");
  EXPECT_EQ(image.length(), 32u);
  EXPECT_EQ(image.length(), slot_length(12));
  EXPECT_EQ(image.place, 128u + 96);
  const unsigned char expected[] = {'t', 'w', 'e', 'l', 'v',  'e',  ' ',  'b',  'y', 't', 'e', 's', 0, 0, 0, 0,
                                    12,  0,   0,   0,   0x7b, 0x9b, 0xf6, 0xbf, 1,   0,   0,   0,   4, 3, 2, 1};
  EXPECT_EQ(std::memcmp(&image.bytes[image.begin], expected, sizeof expected), 0);
}

// Where bytes come in any order: the last word first, then the rest in parts, over an earlier lap's packet of the same
// kind.
TEST(RingSlots, ASlotThatIsPartlyThereIsNotTaken) {
  Ring ring(9);
  for (std::uint32_t i = 0; i < kRingSlots; ++i) {
    ring.write("a packet of the lap before: " + std::to_string(10 + i));
    ring.take();
  }
  const std::string text = "a packet of the next lap, : 10";
  const SlotImage image = ring.compose(text);
  ring.place(image, kRingSlotBytes - 8);
  EXPECT_EQ(ring.take(), "nothing");
  ring.place(image, kRingSlotBytes - 16);
  EXPECT_EQ(ring.take(), "nothing") << "the trailer alone";
  for (std::size_t from = kRingSlotBytes - 17; from > image.begin; --from) {
    ring.place(image, from);
    if (from > image.begin + 18) {  // what both begin with
      EXPECT_EQ(ring.take(), "nothing") << from;
    }
  }
  ring.place(image, image.begin);
  EXPECT_EQ(ring.take(), text);
}

TEST(RingSlots, ALengthThatDoesNotFitIsNotTaken) {
  Ring ring(9);
  SlotImage image = ring.compose("text");
  image.bytes[kRingSlotBytes - 16] = std::byte{kLongestInRing + 1};
  ring.place(image, image.begin);
  EXPECT_EQ(ring.take(), "nothing");
}

}  // namespace
}  // namespace openlapi::verbs
