#include "dataplane/wire/packet_tag.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "dataplane/wire/packet_header.h"

namespace openlapi::wire {
namespace {

constexpr SipKey kKey{0x0706050403020100, 0x0f0e0d0c0b0a0908};

std::vector<std::byte> counting_bytes(std::size_t length) {
  std::vector<std::byte> bytes(length);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>(i);
  return bytes;
}

// What libcrypto answers for the wraps in 8 bytes, then bytes 0 to 7 and 16 to the last.
TEST(PacketTag, HasOneValueOnEveryMachine) {
  EXPECT_EQ(packet_tag(kKey, 0, counting_bytes(24), {}), 0x81a993cebd8dbe58u);
  EXPECT_EQ(packet_tag(kKey, 0x01020304, counting_bytes(77), {}), 0x9a84f70abf99fd25u);
}

TEST(PacketTag, IsThatOfTheWholePacketWhereverItIsDivided) {
  const std::vector<std::byte> packet = counting_bytes(131);
  const std::span<const std::byte> all(packet);
  const std::uint64_t tag = packet_tag(kKey, 7, all, {});
  for (std::size_t head = kShortHeaderSize; head < all.size(); ++head) {
    EXPECT_EQ(packet_tag(kKey, 7, all.first(head), all.subspan(head)), tag) << head;
  }
}

TEST(PacketTag, ChangesWithEveryBitButItsOwn) {
  std::vector<std::byte> packet = counting_bytes(93);
  const std::uint64_t tag = packet_tag(kKey, 0, packet, {});
  std::set<std::uint64_t> seen{tag};
  for (std::size_t bit = 0; bit < 8 * packet.size(); ++bit) {
    packet[bit / 8] ^= std::byte{1} << bit % 8;
    const std::uint64_t other = packet_tag(kKey, 0, packet, {});
    const bool own = bit / 64 == kAssociationAt / 8;
    EXPECT_EQ(own, other == tag) << bit;
    EXPECT_EQ(own, !seen.insert(other).second) << bit;
    packet[bit / 8] ^= std::byte{1} << bit % 8;
  }
  for (unsigned bit = 0; bit < 32; ++bit) EXPECT_TRUE(seen.insert(packet_tag(kKey, 1u << bit, packet, {})).second);
  packet.push_back({});
  EXPECT_TRUE(seen.insert(packet_tag(kKey, 0, packet, {})).second) << "a zero more";
}

TEST(PacketTag, LiesInTheAssociationsPlace) {
  std::vector<std::byte> packet = counting_bytes(kPacketHeaderSize);
  store_tag(packet.data(), 0x1122334455667788);
  EXPECT_EQ(load_association(packet.data()), 0x1122334455667788u);
}

}  // namespace
}  // namespace openlapi::wire
