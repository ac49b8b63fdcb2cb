#include "dataplane/wire/version_packet.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

#include "dataplane/wire/association.h"

namespace openlapi::wire {
namespace {

constexpr SipKey kKey{0x0706050403020100, 0x0f0e0d0c0b0a0908};
constexpr std::uint8_t kOther = kPacketVersion + 1;

using Bytes = std::array<std::byte, kPacketHeaderSize>;

PacketHeader sample_header() {
  PacketHeader header;
  header.instance = 1;
  header.path = 7;
  header.source = 2;
  header.destination = 3;
  header.source_epoch = 4;
  header.destination_epoch = 5;
  return header;
}

Bytes packet_of(std::uint8_t version, bool wants_answer = false) {
  Bytes bytes;
  encode_version_packet(kKey, sample_header(), wants_answer, bytes.data());
  bytes[2] = std::byte{version};
  PacketHeader header = sample_header();
  const std::uint64_t proof = version_proof_of(kKey, version, header);
  for (std::size_t i = 0; i < 8; ++i) bytes[kAssociationAt + i] = static_cast<std::byte>(proof >> 8 * i);
  return bytes;
}

bool is_taken(const Bytes& bytes, const SipKey& key = kKey, std::uint32_t destination = 3) {
  PacketHeader header;
  if (decode(bytes, header) != DecodeResult::wrong_version) return false;
  header.destination = destination;
  return is_version_packet(key, bytes, header);
}

// SipHash-2-4 of the 32 bytes 03 05 01 07 00 00 00 00 | 02 00 00 00 03 00 00 00 | 04 .. | 05 .. as libcrypto answers
// it: no later version may change that.
TEST(VersionPacket, HasOneProofInEveryVersion) {
  EXPECT_EQ(version_proof_of(kKey, 3, sample_header()), 0xb488e4e4a7ed3d6au);
}

TEST(VersionPacket, HasNothingElseInIt) {
  constexpr std::array<unsigned char, kPacketHeaderSize> kExpected = {
      'O', 'L', kPacketVersion, 4, 56, 0, 1, 7, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 0, 0, 5};
  Bytes bytes;
  encode_version_packet(kKey, sample_header(), true, bytes.data());
  EXPECT_EQ(load_association(bytes.data()), version_proof_of(kKey, kPacketVersion, sample_header()));
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (at >= kAssociationAt && at < kAssociationAt + 8) continue;
    EXPECT_EQ(std::to_integer<int>(bytes[at]), kExpected[at]) << "offset " << at;
  }
  encode_version_packet(kKey, sample_header(), false, bytes.data());
  EXPECT_EQ(std::to_integer<int>(bytes[3]), 0);
}

TEST(VersionPacket, OfOtherVersionsIsTaken) {
  for (unsigned version = 0; version < 256; ++version) {
    EXPECT_EQ(is_taken(packet_of(static_cast<std::uint8_t>(version))), version != kPacketVersion) << version;
  }
  EXPECT_TRUE(is_taken(packet_of(kOther, true)));
}

TEST(VersionPacket, IsWorthNothingWithOneBitChanged) {
  Bytes bytes = packet_of(kOther);
  for (std::size_t bit = 16; bit < 32 * 8; ++bit) {
    const bool proven = (bit >= 2 * 8 && bit < 3 * 8) || (bit >= 6 * 8 && bit < 32 * 8);
    if (!proven) continue;  // flags and length are not what it proves
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_FALSE(is_taken(bytes)) << bit;
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
  }
  EXPECT_FALSE(is_taken(bytes, {kKey.low, kKey.high ^ 1}));
  EXPECT_FALSE(is_taken(bytes, kKey, 4)) << "for another task";
}

TEST(VersionPacket, NamesBothIncarnations) {
  const auto of_incarnations = [](std::uint64_t source, std::uint64_t destination) {
    PacketHeader header = sample_header();
    header.source_epoch = source;
    header.destination_epoch = destination;
    header.association = version_proof_of(kKey, kOther, header);
    Bytes bytes;
    encode(header, bytes.data());
    bytes[2] = std::byte{kOther};
    return bytes;
  };
  EXPECT_TRUE(is_taken(of_incarnations(4, 5)));
  EXPECT_FALSE(is_taken(of_incarnations(0, 5)));
  EXPECT_FALSE(is_taken(of_incarnations(4, 0)));
}

}  // namespace
}  // namespace openlapi::wire
