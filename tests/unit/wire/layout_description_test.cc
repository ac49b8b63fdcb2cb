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
  EXPECT_EQ(description.count, 0u) << "it has no pieces";
  EXPECT_EQ(description.pieces, nullptr);
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
  EXPECT_FALSE(is_description(with(with(with(two_pieces(), 32, UINT64_MAX), 24, 0), 16, UINT64_MAX))) << "and say so";
  EXPECT_FALSE(is_description(with(with(blocks(), 40, UINT64_MAX / 2), 16, UINT64_MAX))) << "and say so";
}

TEST(LayoutDescription, BlocksMayReachTheEndOfTheAddressSpaceAndNotBeyond) {
  const std::uint64_t last = UINT64_MAX;
  const auto total = [](StridedLayout layout) { return total_of(layout); };
  EXPECT_EQ(total({0x1000, 5, 8, 3}), 15u);
  EXPECT_EQ(total({0x1000, 5, 8, 0}), 0u);
  EXPECT_EQ(total({0x1000, 0, 8, 3}), 0u);
  EXPECT_EQ(total({0x1000, 5, last, 0}), 0u) << "no block, wherever the next one would be";
  EXPECT_EQ(total({0x1000, 5, last, 1}), 5u) << "a single one";
  EXPECT_EQ(total({0x1000, 1, 0, 1}), 1u);
  EXPECT_EQ(total({last - 8, 8, 16, 1}), 8u);
  EXPECT_EQ(total({last - 7, 8, 16, 1}), last);
  EXPECT_EQ(total({last - 8 - 16, 8, 16, 2}), 16u);
  EXPECT_EQ(total({last - 7 - 16, 8, 16, 2}), last);
  EXPECT_EQ(total({last - 7, 8, last, 2}), last) << "back to the first";
  EXPECT_EQ(total({0, std::uint64_t{1} << 32, 0, std::uint64_t{1} << 32}), last) << "a total of 65 bits";
  EXPECT_EQ(total({0, 8, std::uint64_t{1} << 63, 3}), last) << "a distance of 65 bits";
}

TEST(LayoutDescription, PiecesMayReachTheEndOfTheAddressSpaceAndNotBeyond) {
  const auto total = [](const std::vector<LayoutPiece>& pieces) { return total_of(std::as_bytes(std::span(pieces))); };
  EXPECT_EQ(total({}), 0u);
  EXPECT_EQ(total({{0, 3}, {7, 0}, {UINT64_MAX - 8, 8}}), 11u);
  EXPECT_EQ(total({{0, 3}, {UINT64_MAX - 7, 8}}), UINT64_MAX);
  EXPECT_EQ(total({{UINT64_MAX - 7, 8}, {0, 3}}), UINT64_MAX);
  EXPECT_EQ(total({{0, UINT64_MAX - 1}, {0, 2}}), UINT64_MAX) << "a sum of 65 bits";
}

}  // namespace
}  // namespace openlapi::wire
