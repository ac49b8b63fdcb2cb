// What the packet filter makes of packets that are nearly right.
#include "dataplane/reliability/packet_filter.h"

#include <gtest/gtest.h>

#include <vector>

#include "dataplane/wire/association.h"
#include "dataplane/wire/packet_tag.h"

namespace openlapi {
namespace {

constexpr SipKey kJobKey{0x1122334455667788, 0x99aabbccddeeff00};
constexpr std::uint32_t kLongest = 256;

class PacketFilter : public testing::Test {
 protected:
  PacketFilter() {
    context_.job_key = kJobKey;
    context_.self = 1;
    context_.epoch = 5;
    context_.instance = 2;
    context_.max_packet = kLongest;
  }

  static wire::PacketHeader from(std::uint32_t source, std::uint8_t path = 0) {
    wire::PacketHeader header;
    header.flags = wire::kPacketHasData;
    header.instance = 2;
    header.path = path;
    header.source = source;
    header.destination = 1;
    header.source_epoch = 7;
    header.destination_epoch = 5;
    return header;
  }

  // As whoever knows the job's key encodes it. `said`: what it says of its length, where that is not the length.
  std::vector<std::byte> packet(wire::PacketHeader header, std::size_t length = 64, std::size_t said = 0) const {
    header.length = static_cast<std::uint16_t>(said != 0 ? said : length);
    if (!context_.tagged) header.association = wire::association_of(kJobKey, header);
    std::vector<std::byte> bytes(length);
    wire::encode(header, bytes.data());
    if (context_.tagged) {
      wire::store_tag(bytes.data(), wire::packet_tag(wire::tag_key_of(kJobKey, header), 0, bytes, {}));
    }
    return bytes;
  }

  bool admit(const std::vector<std::byte>& bytes) { return admit_packet(context_, bytes, header_); }

  ChannelContext context_;
  wire::PacketHeader header_;  // the same for all packets: what one leaves in it is nothing to the next
};

// Of those whose places in the table of known associations are the same, each is checked by its own.
TEST_F(PacketFilter, TellsThoseApartThatAreRememberedInOnePlace) {
  for (const bool tagged : {false, true}) {
    context_.tagged = tagged;
    context_.known_associations = {};
    for (int round = 0; round < 3; ++round) {
      for (const std::uint32_t source : {16u, 0u, 32u, 0u}) {
        for (const std::uint8_t path : {3, 0, 3}) EXPECT_TRUE(admit(packet(from(source, path)))) << source << +path;
      }
    }
  }
  EXPECT_EQ(context_.counters.strangers, 0u);
}

// Nobody has epoch 0: also in an empty place of the table it is nobody's.
TEST_F(PacketFilter, KnowsNobodyWithoutAnEpoch) {
  wire::PacketHeader header;
  header.instance = 2;
  header.length = wire::kPacketHeaderSize;
  std::vector<std::byte> bytes(wire::kPacketHeaderSize);
  wire::encode(header, bytes.data());
  EXPECT_FALSE(admit(bytes));
  EXPECT_EQ(context_.counters.strangers, 1u);
  context_.tagged = true;
  wire::store_tag(bytes.data(), wire::packet_tag(SipKey{}, 0, bytes, {}));
  EXPECT_FALSE(admit(bytes));
  EXPECT_EQ(context_.counters.strangers, 2u);
}

TEST_F(PacketFilter, TellsStrangersByTheFirstBytes) {
  for (const std::size_t byte : {0u, 1u, 2u}) {
    ASSERT_TRUE(admit(packet(from(0))));
    auto bytes = packet(from(0));
    bytes[byte] ^= std::byte{4};
    EXPECT_FALSE(admit(bytes));
    EXPECT_EQ(context_.counters.strangers, byte + 1);
  }
}

TEST_F(PacketFilter, TakesNoWrongLengthFromAnybody) {
  EXPECT_TRUE(admit(packet(from(0), kLongest)));
  EXPECT_FALSE(admit(packet(from(0), kLongest + 1)));
  EXPECT_FALSE(admit(packet(from(0), 64, 63)));
  EXPECT_FALSE(admit(packet(from(0), 64, 65)));
  EXPECT_EQ(context_.counters.malformed, 3u);
  EXPECT_EQ(context_.counters.packets_received, 1u);
}

TEST_F(PacketFilter, BoundsPacketsWithShortHeaders) {
  wire::PacketHeader header;
  header.flags = wire::kPacketHasData | wire::kPacketShort;
  for (const std::size_t length : {std::size_t{kLongest}, std::size_t{kLongest} + 1}) {
    std::vector<std::byte> bytes(length);
    wire::encode(header, bytes.data());
    EXPECT_EQ(admit(bytes), length <= kLongest);
  }
  EXPECT_EQ(context_.counters.malformed, 1u);
}

}  // namespace
}  // namespace openlapi
