// The header of every packet over an unreliable transport, defined in wire_format.md. Little-endian, fixed offsets, 56
// bytes, or 24 if the two ends know each other, so that the records after it stay 8-byte aligned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/wire/packet_version.h"

namespace openlapi::wire {

inline constexpr std::uint16_t kPacketMagic = 0x4c4f;  // the bytes 'O' 'L'
inline constexpr std::size_t kPacketHeaderSize = 56;
inline constexpr std::size_t kShortHeaderSize = 24;
inline constexpr std::size_t kLongestPacket = UINT16_MAX;  // the length field has 16 bits

// Behind the header of a packet without data: more of the selective acknowledgement, 64 packets a word.
inline constexpr std::size_t kMostSelectiveWords = 16;  // the one in the header is the first
inline constexpr std::size_t kLongestAck = kPacketHeaderSize + (kMostSelectiveWords - 1) * sizeof(std::uint64_t);

// PacketHeader::flags.
inline constexpr std::uint8_t kPacketHasData = 1;       // `sequence` numbers this packet and payload follows
inline constexpr std::uint8_t kPacketHasAck = 2;        // the acknowledgement fields mean something
inline constexpr std::uint8_t kPacketAckWanted = 4;     // answer with an acknowledgement at once
inline constexpr std::uint8_t kPacketSawDuplicate = 8;  // a packet came again since the last acknowledgement
inline constexpr std::uint8_t kPacketHasChecksum = 16;  // `checksum` covers header and payload
inline constexpr std::uint8_t kPacketPathProbe = 32;    // no data: answer over the path on which this has come
inline constexpr std::uint8_t kPacketPathAnswer = 64;   // no data: the answer
inline constexpr std::uint8_t kPacketAddressNews = kPacketPathProbe | kPacketPathAnswer;  // neither of the two
inline constexpr std::uint8_t kPacketShort = 128;       // the short header, of a packet with data
inline constexpr std::uint8_t kLongHeaderFlags = 127;   // that a long header can have

struct PacketHeader {
  std::uint8_t flags = 0;
  std::uint8_t instance = 0;  // which context of the task
  std::uint8_t path = 0;      // always: packets are numbered for the peer, whichever path they take
  std::uint16_t length = 0;   // bytes of the whole packet
  std::uint64_t association = 0;  // known only to tasks of the job, see association.h; with tags the packet's tag
  std::uint32_t source = 0;
  std::uint32_t destination = 0;   // not in the packet: whoever it is not for finds no association of his own in it
  std::uint64_t source_epoch = 0;  // incarnation of the sender, never 0; epochs have 48 bits
  std::uint64_t destination_epoch = 0;  // incarnation that the packet is meant for; 0: not known yet to the sender
  std::uint32_t sequence = 0;           // with kPacketHasData: number of the packet on its path
  std::uint32_t cumulative_ack = 0;     // every packet before this one was taken
  std::uint64_t selective_ack = 0;      // bit i: packet cumulative_ack + 1 + i was taken
  std::uint16_t ahead = 0;              // packets between the sender's oldest unacknowledged one and this one
  std::uint16_t ack_delay = 0;          // microseconds from the newest arrival to this acknowledgement, capped
  std::uint32_t checksum = 0;           // CRC32C, computed with this field as 0
  std::uint32_t& wraps() { return checksum; }  // with tags, which make a checksum unnecessary: wraps of `sequence`
  std::uint32_t wraps() const { return checksum; }

  bool tells_addresses() const { return (flags & kPacketAddressNews) == kPacketAddressNews; }
  bool is_short() const { return (flags & kPacketShort) != 0; }
  std::size_t size() const { return is_short() ? kShortHeaderSize : kPacketHeaderSize; }
};

// Limits of the fields of a short header.
inline constexpr std::uint32_t kShortAheadBits = 10;
inline constexpr std::uint16_t kShortMostAckDelay = 16383;  // microseconds; that or more

enum class DecodeResult : std::uint8_t {
  ok,
  too_short,
  wrong_magic,
  wrong_version,
  wrong_flags,
  wrong_length,
  wrong_epoch
};

// Writes header.size() bytes.
void encode(const PacketHeader& header, std::byte* out);

// `header` is complete if the result is ok (of a short header: what it contains). If the packet is long enough and
// begins like a header, its fields are set in any case, also for another version (wire_format.md says which fields are
// the same in all versions). Does not check the association.
DecodeResult decode(std::span<const std::byte> packet, PacketHeader& header);

// The wire version of the sender of a long header.
std::uint8_t version_of(const std::byte* encoded_header);

// Whether it is a short header; the first byte of a long one never has its highest bit set.
bool begins_short(const std::byte* encoded_header);

// Offset of the association in both headers.
inline constexpr std::size_t kAssociationAt = 8;
std::uint64_t load_association(const std::byte* encoded_header);

// The words of a selective acknowledgement behind the one in the header.
void encode_selective(std::span<const std::uint64_t> words, std::byte* out);
// `payload` of a packet without data that decoded. Returns how many words it has.
std::size_t decode_selective(std::span<const std::byte> payload, std::span<std::uint64_t> words);

// Whether an encoded header has kPacketAckWanted.
bool asks_for_ack(const std::byte* encoded_header);

// CRC32C over an encoded header and what follows it, in up to two pieces: `head` begins with the header.
std::uint32_t packet_checksum(std::span<const std::byte> head, std::span<const std::byte> data);

// Sets the field of a header that was encoded with kPacketHasChecksum.
void store_checksum(std::byte* encoded_header, std::uint32_t checksum);

// Whether the packet's checksum is right. `packet` must decode.
bool checksum_matches(std::span<const std::byte> packet, const PacketHeader& header);

}  // namespace openlapi::wire
