#include "dataplane/wire/packet_header.h"

#include <algorithm>
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
constexpr std::size_t kSourceEpochAt = 20;
constexpr std::size_t kDestinationEpochAt = 26;
constexpr std::size_t kSequenceAt = 32;
constexpr std::size_t kCumulativeAckAt = 36;
constexpr std::size_t kSelectiveAckAt = 40;
constexpr std::size_t kAheadAt = 48;
constexpr std::size_t kAckDelayAt = 50;
constexpr std::size_t kChecksumAt = 52;

static_assert(kAssociationAt == kPathAt + 1 && kSourceAt == kAssociationAt + 8);
static_assert(kAssociationAt % 8 == 0 && kSelectiveAckAt % 8 == 0, "64-bit fields lie at multiples of 8");
static_assert(kDestinationEpochAt == kSourceEpochAt + 6 && kSequenceAt == kDestinationEpochAt + 6);
static_assert(kChecksumAt + sizeof(std::uint32_t) == kPacketHeaderSize);
static_assert(kPacketHeaderSize % 8 == 0, "records behind the header start at a multiple of 8");

// Of the short header. Its first four bytes are one number: the flags, `ahead`, then the delay.
constexpr std::size_t kShortFlagsAt = 0;
constexpr unsigned kShortAheadShift = 8;
constexpr unsigned kShortAckDelayShift = kShortAheadShift + kShortAheadBits;
constexpr std::size_t kShortSourceAt = 4;
constexpr std::size_t kShortSequenceAt = 16;
constexpr std::size_t kShortCumulativeAckAt = 20;

static_assert(kShortAckDelayShift + 14 == 32 && kShortMostAckDelay == (1u << 14) - 1);
static_assert(kShortSequenceAt == kAssociationAt + 8);
static_assert(kShortCumulativeAckAt + sizeof(std::uint32_t) == kShortHeaderSize);
static_assert(kShortHeaderSize % 8 == 0, "records behind the header start at a multiple of 8");
static_assert((kPacketMagic & kPacketShort) == 0 && kPacketShort == 0x80, "the first byte tells which header it is");

std::uint8_t load_byte(const std::byte* from) { return std::to_integer<std::uint8_t>(*from); }

// Of a packet without data.
bool has_right_length(const PacketHeader& header) {
  const std::size_t longest = (header.flags & kPacketPathProbe) != 0 ? kLongestPacket : kLongestAck;
  return header.length <= longest && header.length % sizeof(std::uint64_t) == 0;
}

void store_epoch(std::byte* to, std::uint64_t epoch) {
  store_little_endian(to, static_cast<std::uint32_t>(epoch));
  store_little_endian(to + 4, static_cast<std::uint16_t>(epoch >> 32));
}

std::uint64_t load_epoch(const std::byte* from) {
  return load_little_endian<std::uint32_t>(from) | std::uint64_t{load_little_endian<std::uint16_t>(from + 4)} << 32;
}

void encode_short(const PacketHeader& header, std::byte* out) {
  const std::uint32_t delay = std::min(header.ack_delay, kShortMostAckDelay);
  store_little_endian<std::uint32_t>(out + kShortFlagsAt, header.flags |
                                                              std::uint32_t{header.ahead} << kShortAheadShift |
                                                              delay << kShortAckDelayShift);
  store_little_endian(out + kShortSourceAt, header.source);
  store_little_endian(out + kAssociationAt, header.association);
  store_little_endian(out + kShortSequenceAt, header.sequence);
  store_little_endian(out + kShortCumulativeAckAt, header.cumulative_ack);
}

DecodeResult decode_short(std::span<const std::byte> packet, PacketHeader& header) {
  const std::byte* in = packet.data();
  const auto first = load_little_endian<std::uint32_t>(in + kShortFlagsAt);
  header.flags = static_cast<std::uint8_t>(first);
  header.ahead = static_cast<std::uint16_t>(first >> kShortAheadShift & ((1u << kShortAheadBits) - 1));
  header.ack_delay = static_cast<std::uint16_t>(first >> kShortAckDelayShift);
  header.length = static_cast<std::uint16_t>(packet.size());
  header.source = load_little_endian<std::uint32_t>(in + kShortSourceAt);
  header.association = load_little_endian<std::uint64_t>(in + kAssociationAt);
  header.sequence = load_little_endian<std::uint32_t>(in + kShortSequenceAt);
  header.cumulative_ack = load_little_endian<std::uint32_t>(in + kShortCumulativeAckAt);

  constexpr std::uint8_t kPossible =
      kPacketShort | kPacketHasData | kPacketHasAck | kPacketAckWanted | kPacketSawDuplicate;
  if ((header.flags & ~kPossible) != 0 || (header.flags & kPacketHasData) == 0) return DecodeResult::wrong_flags;
  return packet.size() <= kLongestPacket ? DecodeResult::ok : DecodeResult::wrong_length;
}

}  // namespace

void encode(const PacketHeader& header, std::byte* out) {
  if (header.is_short()) return encode_short(header, out);
  store_little_endian(out + kMagicAt, kPacketMagic);
  out[kVersionAt] = std::byte{kPacketVersion};
  out[kFlagsAt] = std::byte{header.flags};
  store_little_endian(out + kLengthAt, header.length);
  out[kInstanceAt] = std::byte{header.instance};
  out[kPathAt] = std::byte{header.path};
  store_little_endian(out + kAssociationAt, header.association);
  store_little_endian(out + kSourceAt, header.source);
  store_epoch(out + kSourceEpochAt, header.source_epoch);
  store_epoch(out + kDestinationEpochAt, header.destination_epoch);
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
  if (begins_short(in)) return decode_short(packet, header);
  if (packet.size() < kPacketHeaderSize) return DecodeResult::too_short;
  if (load_little_endian<std::uint16_t>(in + kMagicAt) != kPacketMagic) return DecodeResult::wrong_magic;

  header.flags = load_byte(in + kFlagsAt);
  header.length = load_little_endian<std::uint16_t>(in + kLengthAt);
  header.instance = load_byte(in + kInstanceAt);
  header.path = load_byte(in + kPathAt);
  header.association = load_association(in);
  header.source = load_little_endian<std::uint32_t>(in + kSourceAt);
  header.source_epoch = load_epoch(in + kSourceEpochAt);
  header.destination_epoch = load_epoch(in + kDestinationEpochAt);
  header.sequence = load_little_endian<std::uint32_t>(in + kSequenceAt);
  header.cumulative_ack = load_little_endian<std::uint32_t>(in + kCumulativeAckAt);
  header.selective_ack = load_little_endian<std::uint64_t>(in + kSelectiveAckAt);
  header.ahead = load_little_endian<std::uint16_t>(in + kAheadAt);
  header.ack_delay = load_little_endian<std::uint16_t>(in + kAckDelayAt);
  header.checksum = load_little_endian<std::uint32_t>(in + kChecksumAt);

  if (version_of(in) != kPacketVersion) return DecodeResult::wrong_version;
  if ((header.flags & ~kLongHeaderFlags) != 0) return DecodeResult::wrong_flags;
  if (header.length != packet.size()) return DecodeResult::wrong_length;
  if ((header.flags & kPacketHasData) == 0 && !has_right_length(header)) return DecodeResult::wrong_length;
  if ((header.flags & kPacketHasData) != 0 && (header.flags & (kPacketPathProbe | kPacketPathAnswer)) != 0) {
    return DecodeResult::wrong_flags;
  }
  if (header.source_epoch == 0) return DecodeResult::wrong_epoch;
  return DecodeResult::ok;
}

void encode_selective(std::span<const std::uint64_t> words, std::byte* out) {
  for (const std::uint64_t word : words) {
    store_little_endian(out, word);
    out += sizeof(word);
  }
}

std::size_t decode_selective(std::span<const std::byte> payload, std::span<std::uint64_t> words) {
  const std::size_t count = std::min(payload.size() / sizeof(std::uint64_t), words.size());
  for (std::size_t i = 0; i != count; ++i) {
    words[i] = load_little_endian<std::uint64_t>(payload.data() + i * sizeof(std::uint64_t));
  }
  return count;
}

std::uint8_t version_of(const std::byte* encoded_header) { return load_byte(encoded_header + kVersionAt); }

bool begins_short(const std::byte* encoded_header) {
  return (load_byte(encoded_header + kShortFlagsAt) & kPacketShort) != 0;
}

std::uint64_t load_association(const std::byte* encoded_header) {
  return load_little_endian<std::uint64_t>(encoded_header + kAssociationAt);
}

bool asks_for_ack(const std::byte* encoded_header) {
  const std::size_t flags_at = begins_short(encoded_header) ? kShortFlagsAt : kFlagsAt;
  return (load_byte(encoded_header + flags_at) & kPacketAckWanted) != 0;
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
