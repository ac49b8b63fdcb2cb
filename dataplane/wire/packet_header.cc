#include "dataplane/wire/packet_header.h"

#include <array>

#include "dataplane/base/crc32c.h"
#include "dataplane/wire/byte_order.h"

namespace openlapi::wire {

namespace {

constexpr std::size_t kMagicAt = 0;
constexpr std::size_t kVersionAt = 2;
constexpr std::size_t kFlagsAt = 3;
constexpr std::size_t kLengthAt = 4;
constexpr std::size_t kInstanceAt = 6;
constexpr std::size_t kPathAt = 7;
constexpr std::size_t kSourceAt = 16;
constexpr std::size_t kDestinationAt = 20;
constexpr std::size_t kSourceEpochAt = 24;
constexpr std::size_t kDestinationEpochAt = 28;
constexpr std::size_t kSequenceAt = 32;
constexpr std::size_t kCumulativeAckAt = 36;
constexpr std::size_t kSelectiveAckAt = 40;
constexpr std::size_t kAheadAt = 48;
constexpr std::size_t kAckDelayAt = 50;
constexpr std::size_t kChecksumAt = 52;

static_assert(kCookieAt == kPathAt + 1 && kSourceAt == kCookieAt + 8);
static_assert(kCookieAt % 8 == 0 && kSelectiveAckAt % 8 == 0, "64-bit fields lie at multiples of 8");
static_assert(kChecksumAt + sizeof(std::uint32_t) == kPacketHeaderSize);
static_assert(kPacketHeaderSize % 8 == 0, "records behind the header start at a multiple of 8");

// Of the short header, whose first 4 bytes are the long one's.
constexpr std::size_t kShortAheadAt = 4;
constexpr std::size_t kShortAckDelayAt = 6;
constexpr std::size_t kAssociationAt = 8;
constexpr std::size_t kShortSourceAt = 12;
constexpr std::size_t kShortSequenceAt = 16;
constexpr std::size_t kShortCumulativeAckAt = 20;

static_assert(kShortCumulativeAckAt + sizeof(std::uint32_t) == kShortHeaderSize);
static_assert(kShortHeaderSize % 8 == 0, "records behind the header start at a multiple of 8");

std::uint8_t load_byte(const std::byte* from) { return std::to_integer<std::uint8_t>(*from); }

void encode_short(const PacketHeader& header, std::byte* out) {
  store_little_endian(out + kShortAheadAt, header.ahead);
  store_little_endian(out + kShortAckDelayAt, header.ack_delay);
  store_little_endian(out + kAssociationAt, header.association);
  store_little_endian(out + kShortSourceAt, header.source);
  store_little_endian(out + kShortSequenceAt, header.sequence);
  store_little_endian(out + kShortCumulativeAckAt, header.cumulative_ack);
}

DecodeResult decode_short(std::span<const std::byte> packet, PacketHeader& header) {
  const std::byte* in = packet.data();
  header.length = static_cast<std::uint16_t>(packet.size());
  header.ahead = load_little_endian<std::uint16_t>(in + kShortAheadAt);
  header.ack_delay = load_little_endian<std::uint16_t>(in + kShortAckDelayAt);
  header.association = load_little_endian<std::uint32_t>(in + kAssociationAt);
  header.source = load_little_endian<std::uint32_t>(in + kShortSourceAt);
  header.sequence = load_little_endian<std::uint32_t>(in + kShortSequenceAt);
  header.cumulative_ack = load_little_endian<std::uint32_t>(in + kShortCumulativeAckAt);

  constexpr std::uint8_t kPossible = kKnownPacketFlags & ~kPacketHasChecksum;
  if ((header.flags & ~kPossible) != 0 || (header.flags & kPacketHasData) == 0) return DecodeResult::wrong_flags;
  return packet.size() <= kLongestPacket ? DecodeResult::ok : DecodeResult::wrong_length;
}

}  // namespace

std::uint32_t association_of(const PacketHeader& header) {
  PacketHeader whole = header;
  whole.flags = 0;
  std::array<std::byte, kPacketHeaderSize> bytes;
  encode(whole, bytes.data());
  return extend_crc32c(0, bytes.data() + kInstanceAt, kSequenceAt - kInstanceAt);
}

void encode(const PacketHeader& header, std::byte* out) {
  store_little_endian(out + kMagicAt, kPacketMagic);
  out[kVersionAt] = std::byte{kPacketVersion};
  out[kFlagsAt] = std::byte{header.flags};
  if (header.is_short()) return encode_short(header, out);
  store_little_endian(out + kLengthAt, header.length);
  out[kInstanceAt] = std::byte{header.instance};
  out[kPathAt] = std::byte{header.path};
  store_little_endian(out + kCookieAt, header.cookie);
  store_little_endian(out + kSourceAt, header.source);
  store_little_endian(out + kDestinationAt, header.destination);
  store_little_endian(out + kSourceEpochAt, header.source_epoch);
  store_little_endian(out + kDestinationEpochAt, header.destination_epoch);
  store_little_endian(out + kSequenceAt, header.sequence);
  store_little_endian(out + kCumulativeAckAt, header.cumulative_ack);
  store_little_endian(out + kSelectiveAckAt, header.selective_ack);
  store_little_endian(out + kAheadAt, header.ahead);
  store_little_endian(out + kAckDelayAt, header.ack_delay);
  store_little_endian(out + kChecksumAt, header.checksum);
}

DecodeResult decode(std::span<const std::byte> packet, PacketHeader& header) {
  if (packet.size() < kShortHeaderSize) return DecodeResult::too_short;
  const std::byte* in = packet.data();
  if (load_little_endian<std::uint16_t>(in + kMagicAt) != kPacketMagic) return DecodeResult::wrong_magic;
  if (load_byte(in + kVersionAt) != kPacketVersion) return DecodeResult::wrong_version;

  header.flags = load_byte(in + kFlagsAt);
  if (header.is_short()) return decode_short(packet, header);
  if (packet.size() < kPacketHeaderSize) return DecodeResult::too_short;
  header.length = load_little_endian<std::uint16_t>(in + kLengthAt);
  header.instance = load_byte(in + kInstanceAt);
  header.path = load_byte(in + kPathAt);
  header.cookie = load_cookie(in);
  header.source = load_little_endian<std::uint32_t>(in + kSourceAt);
  header.destination = load_little_endian<std::uint32_t>(in + kDestinationAt);
  header.source_epoch = load_little_endian<std::uint32_t>(in + kSourceEpochAt);
  header.destination_epoch = load_little_endian<std::uint32_t>(in + kDestinationEpochAt);
  header.sequence = load_little_endian<std::uint32_t>(in + kSequenceAt);
  header.cumulative_ack = load_little_endian<std::uint32_t>(in + kCumulativeAckAt);
  header.selective_ack = load_little_endian<std::uint64_t>(in + kSelectiveAckAt);
  header.ahead = load_little_endian<std::uint16_t>(in + kAheadAt);
  header.ack_delay = load_little_endian<std::uint16_t>(in + kAckDelayAt);
  header.checksum = load_little_endian<std::uint32_t>(in + kChecksumAt);

  if ((header.flags & ~kKnownPacketFlags) != 0) return DecodeResult::wrong_flags;
  if (header.length != packet.size()) return DecodeResult::wrong_length;
  if ((header.flags & kPacketHasData) == 0 && packet.size() != kPacketHeaderSize) return DecodeResult::wrong_length;
  if (header.source_epoch == 0) return DecodeResult::wrong_epoch;
  return DecodeResult::ok;
}

bool begins_short(const std::byte* encoded_header) {
  return load_little_endian<std::uint16_t>(encoded_header + kMagicAt) == kPacketMagic &&
         (load_byte(encoded_header + kFlagsAt) & kPacketShort) != 0;
}

std::uint64_t load_cookie(const std::byte* encoded_header) {
  return load_little_endian<std::uint64_t>(encoded_header + kCookieAt);
}

bool asks_for_ack(const std::byte* encoded_header) {
  return (load_byte(encoded_header + kFlagsAt) & kPacketAckWanted) != 0;
}

std::uint32_t packet_checksum(std::span<const std::byte> head, std::span<const std::byte> data) {
  constexpr std::array<std::byte, kPacketHeaderSize - kChecksumAt> kBlank{};
  std::uint32_t crc = extend_crc32c(0, head.data(), kChecksumAt);
  crc = extend_crc32c(crc, kBlank.data(), kBlank.size());
  crc = extend_crc32c(crc, head.data() + kPacketHeaderSize, head.size() - kPacketHeaderSize);
  return extend_crc32c(crc, data.data(), data.size());
}

void store_checksum(std::byte* encoded_header, std::uint32_t checksum) {
  store_little_endian(encoded_header + kChecksumAt, checksum);
}

bool checksum_matches(std::span<const std::byte> packet, const PacketHeader& header) {
  return (header.flags & kPacketHasChecksum) != 0 && packet_checksum(packet, {}) == header.checksum;
}

}  // namespace openlapi::wire
