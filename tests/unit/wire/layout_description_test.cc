// Layouts as they travel, byte for byte, and what the decoder refuses.
#include "dataplane/wire/layout_description.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace openlapi::wire {
namespace {

bool is_description(std::vector<std::byte> bytes) {
  std::span<const std::byte> rest(bytes);
  LayoutDescription description;
  return next_description(rest, description);
}

std::vector<std::byte> with(std::vector<std::byte> bytes, std::size_t offset, std::uint64_t value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
  return bytes;
}

std::vector<std::byte> two_pieces() {
  std::vector<std::byte> bytes;
  const std::array<LayoutPiece, 2> pieces = {{{0x1122334455667788, 3}, {0x99, 0x0102}}};
  append_description(bytes, pieces, 0x105);
  return bytes;
}

std::vector<std::byte> blocks() {
  std::vector<std::byte> bytes;
  append_description(bytes, StridedLayout{0x1000, 5, 8, 3});
  return bytes;
}

TEST(LayoutDescription, PiecesByteForByte) {
  const auto bytes = two_pieces();
  const std::array<unsigned char, 56> expected = {1,    0,    0,    0,    0,    0,    0,    0,     // kind, reserved
                                                  2,    0,    0,    0,    0,    0,    0,    0,     // pieces
                                                  5,    1,    0,    0,    0,    0,    0,    0,     // bytes in all
                                                  0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,  // address
                                                  3,    0,    0,    0,    0,    0,    0,    0,     // length
                                                  0x99, 0,    0,    0,    0,    0,    0,    0,     //
                                                  2,    1,    0,    0,    0,    0,    0,    0};
  ASSERT_EQ(bytes.size(), expected.size());
  EXPECT_EQ(std::memcmp(bytes.data(), expected.data(), expected.size()), 0);
}

TEST(LayoutDescription, BlocksByteForByte) {
  const auto bytes = blocks();
  const std::array<unsigned char, 56> expected = {2,  0,    0, 0, 0, 0, 0, 0,  // kind, reserved
                                                  1,  0,    0, 0, 0, 0, 0, 0,  // one
                                                  15, 0,    0, 0, 0, 0, 0, 0,  // bytes in all
                                                  0,  0x10, 0, 0, 0, 0, 0, 0,  // base
                                                  5,  0,    0, 0, 0, 0, 0, 0,  // block
                                                  8,  0,    0, 0, 0, 0, 0, 0,  // stride
                                                  3,  0,    0, 0, 0, 0, 0, 0};
  ASSERT_EQ(bytes.size(), expected.size());
  EXPECT_EQ(std::memcmp(bytes.data(), expected.data(), expected.size()), 0);
}

TEST(LayoutDescription, OneAfterTheOther) {
  auto bytes = two_pieces();
  const auto second = blocks();
  bytes.insert(bytes.end(), second.begin(), second.end());
  std::span<const std::byte> rest(bytes);
  LayoutDescription description;
  ASSERT_TRUE(next_description(rest, description));
  EXPECT_EQ(description.count, 2u);
  EXPECT_EQ(description.pieces, bytes.data() + sizeof(LayoutHeader));
  ASSERT_TRUE(next_description(rest, description));
  EXPECT_EQ(description.kind, LayoutKind::strided);
  EXPECT_EQ(description.strided.stride, 8u);
  EXPECT_EQ(description.total_bytes, 15u);
  EXPECT_FALSE(next_description(rest, description));
}

TEST(LayoutDescription, EveryShorterOneIsRefused) {
  for (const auto& whole : {two_pieces(), blocks()}) {
    EXPECT_TRUE(is_description(whole));
    for (std::size_t length = 0; length < whole.size(); ++length) {
      EXPECT_FALSE(is_description({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)}));
    }
  }
}

TEST(LayoutDescription, LengthsThatLieAreRefused) {
  EXPECT_FALSE(is_description(with(two_pieces(), 0, 3))) << "no such kind";
  EXPECT_FALSE(is_description(with(two_pieces(), 0, 0))) << "no such kind";
  EXPECT_FALSE(is_description(with(two_pieces(), 8, 3))) << "more pieces than there are bytes";
  EXPECT_FALSE(is_description(with(two_pieces(), 8, UINT64_MAX / 16 + 2))) << "a count whose bytes wrap";
  EXPECT_FALSE(is_description(with(two_pieces(), 16, 0x104))) << "another total";
  EXPECT_FALSE(is_description(with(two_pieces(), 24, UINT64_MAX - 1))) << "a piece that wraps";
  EXPECT_FALSE(is_description(with(with(two_pieces(), 32, UINT64_MAX), 24, 0))) << "lengths that wrap";
  EXPECT_FALSE(is_description(with(blocks(), 16, 16))) << "another total";
  EXPECT_FALSE(is_description(with(blocks(), 40, UINT64_MAX / 2))) << "a stride that wraps";
  EXPECT_FALSE(is_description(with(with(blocks(), 32, UINT64_MAX), 16, UINT64_MAX - 2))) << "blocks that wrap";
}

}  // namespace
}  // namespace openlapi::wire
