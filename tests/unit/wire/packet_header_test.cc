#include "dataplane/wire/packet_header.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "dataplane/base/crc32c.h"

namespace openlapi::wire {
namespace {

using Bytes = std::array<std::byte, kPacketHeaderSize>;

PacketHeader sample_header() {
  PacketHeader header;
  header.flags = kPacketHasData | kPacketHasAck;
  header.instance = 0x11;
  header.path = 0x22;
  header.length = 56;
  header.cookie = 0x0123456789abcdef;
  header.source = 0x31323334;
  header.destination = 0x41424344;
  header.source_epoch = 0x51525354;
  header.destination_epoch = 0x61626364;
  header.sequence = 0x71727374;
  header.cumulative_ack = 0x81828384;
  header.selective_ack = 0x9192939495969798;
  header.ahead = 0xa1a2;
  header.ack_delay = 0xb1b2;
  header.checksum = 0xc1c2c3c4;
  return header;
}

Bytes encoded(const PacketHeader& header) {
  Bytes bytes;
  encode(header, bytes.data());
  return bytes;
}

DecodeResult decode_changed(std::size_t at, int value) {
  Bytes bytes = encoded(sample_header());
  bytes[at] = static_cast<std::byte>(value);
  PacketHeader header;
  return decode(bytes, header);
}

TEST(PacketHeader, EveryByteIsAtItsPlace) {
  constexpr std::array<unsigned char, kPacketHeaderSize> kExpected = {
      'O',  'L',  1,    3,    56,   0,    0x11, 0x22, 0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01, 0x34, 0x33, 0x32,
      0x31, 0x44, 0x43, 0x42, 0x41, 0x54, 0x53, 0x52, 0x51, 0x64, 0x63, 0x62, 0x61, 0x74, 0x73, 0x72, 0x71, 0x84, 0x83,
      0x82, 0x81, 0x98, 0x97, 0x96, 0x95, 0x94, 0x93, 0x92, 0x91, 0xa2, 0xa1, 0xb2, 0xb1, 0xc4, 0xc3, 0xc2, 0xc1};
  const Bytes bytes = encoded(sample_header());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    EXPECT_EQ(std::to_integer<int>(bytes[at]), kExpected[at]) << "offset " << at;
  }
}

TEST(PacketHeader, DecodesWhatWasEncoded) {
  const PacketHeader sent = sample_header();
  PacketHeader header;
  ASSERT_EQ(decode(encoded(sent), header), DecodeResult::ok);
  EXPECT_EQ(header.flags, sent.flags);
  EXPECT_EQ(header.instance, sent.instance);
  EXPECT_EQ(header.path, sent.path);
  EXPECT_EQ(header.length, sent.length);
  EXPECT_EQ(header.cookie, sent.cookie);
  EXPECT_EQ(header.source, sent.source);
  EXPECT_EQ(header.destination, sent.destination);
  EXPECT_EQ(header.source_epoch, sent.source_epoch);
  EXPECT_EQ(header.destination_epoch, sent.destination_epoch);
  EXPECT_EQ(header.sequence, sent.sequence);
  EXPECT_EQ(header.cumulative_ack, sent.cumulative_ack);
  EXPECT_EQ(header.selective_ack, sent.selective_ack);
  EXPECT_EQ(header.ahead, sent.ahead);
  EXPECT_EQ(header.ack_delay, sent.ack_delay);
  EXPECT_EQ(header.checksum, sent.checksum);
  EXPECT_EQ(load_cookie(encoded(sent).data()), sent.cookie);
}

TEST(PacketHeader, RefusesEveryShorterPacket) {
  const Bytes bytes = encoded(sample_header());
  PacketHeader header;
  for (std::size_t length = 0; length < kPacketHeaderSize; ++length) {
    EXPECT_EQ(decode({bytes.data(), length}, header), DecodeResult::too_short);
  }
}

TEST(PacketHeader, RefusesWrongFields) {
  EXPECT_EQ(decode_changed(0, 'X'), DecodeResult::wrong_magic);
  EXPECT_EQ(decode_changed(1, 'X'), DecodeResult::wrong_magic);
  EXPECT_EQ(decode_changed(2, 0), DecodeResult::wrong_version);
  EXPECT_EQ(decode_changed(2, 2), DecodeResult::wrong_version);
  EXPECT_EQ(decode_changed(3, 0x21), DecodeResult::wrong_flags);
  EXPECT_EQ(decode_changed(3, 0x81), DecodeResult::wrong_flags);
  EXPECT_EQ(decode_changed(4, 57), DecodeResult::wrong_length);
  EXPECT_EQ(decode_changed(4, 0), DecodeResult::wrong_length);
  EXPECT_EQ(decode_changed(5, 1), DecodeResult::wrong_length);
  PacketHeader no_epoch = sample_header();
  no_epoch.source_epoch = 0;
  PacketHeader header;
  EXPECT_EQ(decode(encoded(no_epoch), header), DecodeResult::wrong_epoch);
}

TEST(PacketHeader, PayloadNeedsTheDataFlag) {
  std::vector<std::byte> packet(kPacketHeaderSize + 8);
  PacketHeader header = sample_header();
  header.length = static_cast<std::uint16_t>(packet.size());
  encode(header, packet.data());
  EXPECT_EQ(decode(packet, header), DecodeResult::ok);
  header.flags = kPacketHasAck;
  encode(header, packet.data());
  EXPECT_EQ(decode(packet, header), DecodeResult::wrong_length);
}

TEST(PacketHeader, TellsWhetherAnAckIsWanted) {
  PacketHeader header = sample_header();
  EXPECT_FALSE(asks_for_ack(encoded(header).data()));
  header.flags |= kPacketAckWanted;
  EXPECT_TRUE(asks_for_ack(encoded(header).data()));
}

TEST(PacketChecksum, FindsEveryFlippedBit) {
  std::vector<std::byte> packet(kPacketHeaderSize + 21, std::byte{0x5a});
  PacketHeader header = sample_header();
  header.flags |= kPacketHasChecksum;
  header.length = static_cast<std::uint16_t>(packet.size());
  encode(header, packet.data());
  const std::uint32_t checksum =
      packet_checksum({packet.data(), kPacketHeaderSize + 5}, {packet.data() + kPacketHeaderSize + 5, 16});
  EXPECT_EQ(checksum, packet_checksum(packet, {})) << "where the pieces meet must not matter";
  store_checksum(packet.data(), checksum);
  ASSERT_EQ(decode(packet, header), DecodeResult::ok);
  ASSERT_TRUE(checksum_matches(packet, header));
  for (std::size_t bit = 0; bit < packet.size() * 8; ++bit) {
    std::vector<std::byte> damaged = packet;
    damaged[bit / 8] ^= std::byte{1} << (bit % 8);
    PacketHeader seen;
    const bool accepted = decode(damaged, seen) == DecodeResult::ok && checksum_matches(damaged, seen);
    EXPECT_FALSE(accepted) << "bit " << bit;
  }
}

TEST(PacketChecksum, MissingDoesNotMatch) {
  const Bytes bytes = encoded(sample_header());
  PacketHeader header;
  ASSERT_EQ(decode(bytes, header), DecodeResult::ok);
  EXPECT_FALSE(checksum_matches(bytes, header));
}

}  // namespace
}  // namespace openlapi::wire
