#include "nic/udp/datagram_frame.h"

#include <gtest/gtest.h>

#include <vector>

namespace openlapi::udp {
namespace {

// A frame as a peer may send it, with the header's words given.
std::vector<std::byte> raw_frame(std::uint32_t length, std::uint32_t check, std::size_t bytes_behind) {
  std::vector<std::byte> bytes(sizeof(FrameHeader) + bytes_behind, std::byte{0x5a});
  std::memcpy(bytes.data(), &length, 4);
  std::memcpy(bytes.data() + 4, &check, 4);
  return bytes;
}

bool is_frame(std::vector<std::byte> bytes) {
  std::span<std::byte> rest = bytes;
  std::span<std::byte> packet;
  return next_frame(rest, packet);
}

TEST(DatagramFrame, HasTheBytesThatItsTextSays) {
  const FrameHeader header = make_frame_header(0x0102);
  unsigned char bytes[8];
  std::memcpy(bytes, &header, sizeof(bytes));
  const unsigned char expected[8] = {0x02, 0x01, 0x00, 0x00, 'L' ^ 0x02, 'A' ^ 0x01, 'P', '1'};
  EXPECT_EQ(std::memcmp(bytes, expected, sizeof(bytes)), 0);
}

TEST(DatagramFrame, SizesArePadded) {
  EXPECT_EQ(frame_size(0), 8u);
  EXPECT_EQ(frame_size(1), 16u);
  EXPECT_EQ(frame_size(8), 16u);
  EXPECT_EQ(frame_size(9), 24u);
}

TEST(DatagramFrame, TakesFramesOffTheFront) {
  std::vector<std::byte> bytes = raw_frame(5, 5 ^ kFrameMark, 8);
  const std::vector<std::byte> second = raw_frame(0, 0 ^ kFrameMark, 0);
  bytes.insert(bytes.end(), second.begin(), second.end());
  std::span<std::byte> rest = bytes;
  std::span<std::byte> packet;
  ASSERT_TRUE(next_frame(rest, packet));
  EXPECT_EQ(packet.data(), bytes.data() + 8);
  EXPECT_EQ(packet.size(), 5u);
  ASSERT_TRUE(next_frame(rest, packet));
  EXPECT_EQ(packet.size(), 0u);
  EXPECT_TRUE(rest.empty());
  EXPECT_FALSE(next_frame(rest, packet));
}

TEST(DatagramFrame, RefusesWhatIsNone) {
  EXPECT_TRUE(is_frame(raw_frame(8, 8 ^ kFrameMark, 8)));
  EXPECT_FALSE(is_frame(raw_frame(8, 9 ^ kFrameMark, 8)));              // the words do not agree
  EXPECT_FALSE(is_frame(raw_frame(8, 8 ^ kFrameMark, 7)));              // cut short
  EXPECT_FALSE(is_frame(raw_frame(5, 5 ^ kFrameMark, 5)));              // no padding
  EXPECT_FALSE(is_frame(raw_frame(9, 9 ^ kFrameMark, 8)));              // a length that lies
  EXPECT_FALSE(is_frame(raw_frame(UINT32_MAX, UINT32_MAX ^ kFrameMark, 64)));
  EXPECT_FALSE(is_frame(raw_frame(65508, 65508 ^ kFrameMark, 65536)));  // longer than any datagram
  EXPECT_FALSE(is_frame({}));
  EXPECT_FALSE(is_frame(std::vector<std::byte>(7)));
}

}  // namespace
}  // namespace openlapi::udp
