#include "dataplane/wire/packet_header.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <span>
#include <type_traits>
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
  header.association = 0x0123456789abcdef;
  header.source = 0x31323334;
  header.source_epoch = 0x515253545556;
  header.destination_epoch = 0x616263646566;
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
      'O',  'L',  2,    3,    56,   0,    0x11, 0x22, 0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01, 0x34, 0x33, 0x32,
      0x31, 0x56, 0x55, 0x54, 0x53, 0x52, 0x51, 0x66, 0x65, 0x64, 0x63, 0x62, 0x61, 0x74, 0x73, 0x72, 0x71, 0x84, 0x83,
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
  EXPECT_EQ(header.association, sent.association);
  EXPECT_EQ(header.source, sent.source);
  EXPECT_EQ(header.source_epoch, sent.source_epoch);
  EXPECT_EQ(header.destination_epoch, sent.destination_epoch);
  EXPECT_EQ(header.sequence, sent.sequence);
  EXPECT_EQ(header.cumulative_ack, sent.cumulative_ack);
  EXPECT_EQ(header.selective_ack, sent.selective_ack);
  EXPECT_EQ(header.ahead, sent.ahead);
  EXPECT_EQ(header.ack_delay, sent.ack_delay);
  EXPECT_EQ(header.checksum, sent.checksum);
  EXPECT_EQ(load_association(encoded(sent).data()), sent.association);
}

// What nobody has set means nothing, and is sent as 0.
TEST(PacketHeader, ANewOneIsAllZeros) {
  Bytes expected{};
  expected[0] = std::byte{'O'};
  expected[1] = std::byte{'L'};
  expected[2] = std::byte{kPacketVersion};
  EXPECT_EQ(encoded(PacketHeader{}), expected);
  EXPECT_EQ(PacketHeader{}.destination, 0u) << "which is not in the packet";
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
  EXPECT_EQ(decode_changed(2, 1), DecodeResult::wrong_version);
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

DecodeResult decode_long(std::size_t payload, std::uint8_t flags) {
  std::vector<std::byte> packet(kPacketHeaderSize + payload);
  PacketHeader header = sample_header();
  header.length = static_cast<std::uint16_t>(packet.size());
  header.flags = flags;
  encode(header, packet.data());
  return decode(packet, header);
}

TEST(PacketHeader, OnlyWordsOfAnAcknowledgementFollowWithoutTheDataFlag) {
  constexpr std::size_t kMost = kLongestAck - kPacketHeaderSize;
  for (std::size_t payload = 0; payload <= kMost + 8; ++payload) {
    const bool words = payload % 8 == 0 && payload <= kMost;
    EXPECT_EQ(decode_long(payload, kPacketHasAck), words ? DecodeResult::ok : DecodeResult::wrong_length) << payload;
    EXPECT_EQ(decode_long(payload, kPacketHasData), DecodeResult::ok) << payload;
  }
}

TEST(PacketHeader, WordsOfAnAcknowledgementAreReadAsWritten) {
  constexpr std::array<std::uint64_t, 3> kWords{1, UINT64_MAX, 0x1122334455667788};
  std::array<std::byte, sizeof(kWords)> bytes;
  encode_selective(kWords, bytes.data());
  EXPECT_EQ(bytes[16], std::byte{0x88});
  std::array<std::uint64_t, 3> words{};
  EXPECT_EQ(decode_selective(bytes, words), 3u);
  EXPECT_EQ(words, kWords);
  EXPECT_EQ(decode_selective(bytes, std::span(words).first(2)), 2u) << "no more than there is room for";
}

TEST(PacketHeader, ItsChecksumIsThatOfThePacketWithoutOne) {
  std::vector<std::byte> packet(kPacketHeaderSize + 9, std::byte{0x5a});
  encode(sample_header(), packet.data());
  std::vector<std::byte> blank = packet;
  store_checksum(blank.data(), 0);
  const std::uint32_t expected = extend_crc32c(0, blank.data(), blank.size());
  EXPECT_EQ(packet_checksum(packet, {}), expected);
  const std::span<const std::byte> all(packet);
  EXPECT_EQ(packet_checksum(all.first(kPacketHeaderSize + 2), all.subspan(kPacketHeaderSize + 2)), expected);
}

TEST(PacketHeader, TellsWhetherAnAckIsWanted) {
  PacketHeader header = sample_header();
  EXPECT_FALSE(asks_for_ack(encoded(header).data()));
  header.flags |= kPacketAckWanted;
  EXPECT_TRUE(asks_for_ack(encoded(header).data()));
}

using ShortBytes = std::array<std::byte, kShortHeaderSize>;

PacketHeader sample_short() {
  PacketHeader header = sample_header();
  header.flags |= kPacketShort;
  header.association = 0xd1d2d3d4d5d6d7d8;
  header.ahead = 0x3a1;
  header.ack_delay = 0x2fb2;
  return header;
}

ShortBytes encoded_short(const PacketHeader& header) {
  ShortBytes bytes;
  encode(header, bytes.data());
  return bytes;
}

TEST(ShortPacketHeader, EveryByteIsAtItsPlace) {
  // ahead has 10 bits, the delay the 14 above it: 0x2fb2 << 10 | 0x3a1 is 0xbecba1.
  constexpr std::array<unsigned char, kShortHeaderSize> kExpected = {0x83, 0xa1, 0xcb, 0xbe, 0x34, 0x33, 0x32, 0x31,
                                                                     0xd8, 0xd7, 0xd6, 0xd5, 0xd4, 0xd3, 0xd2, 0xd1,
                                                                     0x74, 0x73, 0x72, 0x71, 0x84, 0x83, 0x82, 0x81};
  const ShortBytes bytes = encoded_short(sample_short());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    EXPECT_EQ(std::to_integer<int>(bytes[at]), kExpected[at]) << "offset " << at;
  }
  EXPECT_TRUE(begins_short(bytes.data()));
  EXPECT_FALSE(begins_short(encoded(sample_header()).data()));
}

TEST(ShortPacketHeader, DecodesWhatWasEncoded) {
  const PacketHeader sent = sample_short();
  const ShortBytes bytes = encoded_short(sent);
  std::vector<std::byte> packet(kShortHeaderSize + 11);
  std::memcpy(packet.data(), bytes.data(), bytes.size());
  PacketHeader header;
  ASSERT_EQ(decode(packet, header), DecodeResult::ok);
  EXPECT_TRUE(header.is_short());
  EXPECT_EQ(header.size(), kShortHeaderSize);
  EXPECT_EQ(header.flags, sent.flags);
  EXPECT_EQ(header.length, packet.size());
  EXPECT_EQ(header.source, sent.source);
  EXPECT_EQ(header.association, sent.association);
  EXPECT_EQ(header.sequence, sent.sequence);
  EXPECT_EQ(header.cumulative_ack, sent.cumulative_ack);
  EXPECT_EQ(header.selective_ack, 0u);
  EXPECT_EQ(header.ahead, sent.ahead);
  EXPECT_EQ(header.ack_delay, sent.ack_delay);
}

TEST(ShortPacketHeader, RefusesWhatItCannotBe) {
  PacketHeader header;
  const ShortBytes right = encoded_short(sample_short());
  for (std::size_t length = 0; length < kShortHeaderSize; ++length) {
    EXPECT_EQ(decode({right.data(), length}, header), DecodeResult::too_short);
  }
  const auto with_flags = [&](std::uint8_t flags) {
    ShortBytes bytes = right;
    bytes[0] = std::byte{flags};
    return decode(bytes, header);
  };
  EXPECT_EQ(with_flags(kPacketShort | kPacketHasData), DecodeResult::ok);
  EXPECT_EQ(with_flags(kPacketShort | kPacketHasAck), DecodeResult::wrong_flags) << "only packets with data";
  EXPECT_EQ(with_flags(kPacketShort | kPacketHasData | kPacketHasChecksum), DecodeResult::wrong_flags);
  EXPECT_EQ(with_flags(kPacketShort | kPacketHasData | 0x20), DecodeResult::wrong_flags);
  EXPECT_EQ(with_flags(kPacketShort | kPacketHasData | 0x40), DecodeResult::wrong_flags);
  EXPECT_EQ(with_flags(kPacketHasData), DecodeResult::too_short) << "a long one";
}

TEST(ShortPacketHeader, IsThatOfPacketsUpToTheLongest) {
  std::vector<std::byte> packet(kLongestPacket + 1);
  encode(sample_short(), packet.data());
  PacketHeader header;
  const std::span<const std::byte> all(packet);
  EXPECT_EQ(decode(all.first(kLongestPacket), header), DecodeResult::ok);
  EXPECT_EQ(header.length, kLongestPacket);
  EXPECT_EQ(decode(all, header), DecodeResult::wrong_length);
}

TEST(ShortPacketHeader, SaysOfALongDelayThatItIsLong) {
  PacketHeader header = sample_short();
  for (const std::uint16_t delay : {std::uint16_t{16384}, std::uint16_t{UINT16_MAX}}) {
    header.ack_delay = delay;
    PacketHeader seen;
    ASSERT_EQ(decode(encoded_short(header), seen), DecodeResult::ok);
    EXPECT_EQ(seen.ack_delay, kShortMostAckDelay);
    EXPECT_EQ(seen.ahead, header.ahead);
  }
}

TEST(ShortPacketHeader, TellsWhetherAnAckIsWanted) {
  PacketHeader header = sample_short();
  EXPECT_FALSE(asks_for_ack(encoded_short(header).data()));
  header.flags |= kPacketAckWanted;
  EXPECT_TRUE(asks_for_ack(encoded_short(header).data()));
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

// Where the flag is missing, the field is something else.
TEST(PacketChecksum, IsOneOnlyWithItsFlag) {
  Bytes bytes = encoded(sample_header());
  store_checksum(bytes.data(), packet_checksum(bytes, {}));
  PacketHeader header;
  ASSERT_EQ(decode(bytes, header), DecodeResult::ok);
  EXPECT_FALSE(checksum_matches(bytes, header));
}

}  // namespace
}  // namespace openlapi::wire
