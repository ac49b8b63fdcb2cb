// The header of every packet that travels over an unreliable transport; wire_format.md has its text. Little-endian,
// fixed offsets, 56 bytes, or 24 where the two ends know each other, so that the records behind it keep their 8-byte
// alignment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace openlapi::wire {

inline constexpr std::uint16_t kPacketMagic = 0x4c4f;  // the bytes 'O' 'L'
inline constexpr std::uint8_t kPacketVersion = 1;
inline constexpr std::size_t kPacketHeaderSize = 56;
inline constexpr std::size_t kShortHeaderSize = 24;
inline constexpr std::size_t kLongestPacket = UINT16_MAX;  // the length field has 16 bits

// PacketHeader::flags.
inline constexpr std::uint8_t kPacketHasData = 1;       // `sequence` numbers this packet and payload follows
inline constexpr std::uint8_t kPacketHasAck = 2;        // the acknowledgement fields mean something
inline constexpr std::uint8_t kPacketAckWanted = 4;     // answer with an acknowledgement at once
inline constexpr std::uint8_t kPacketSawDuplicate = 8;  // a packet came again since the last acknowledgement
inline constexpr std::uint8_t kPacketHasChecksum = 16;  // `checksum` covers header and payload
inline constexpr std::uint8_t kPacketShort = 32;        // the short header, of a packet with data
inline constexpr std::uint8_t kKnownPacketFlags = 63;

struct PacketHeader {
  std::uint8_t flags = 0;
  std::uint8_t instance = 0;  // which context of the task
  std::uint8_t path = 0;      // which of the ways between the two contexts; has its own packet numbers
  std::uint16_t length = 0;   // bytes of the whole packet
  std::uint64_t cookie = 0;   // of the job
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t source_epoch = 0;       // incarnation of the sender, never 0
  std::uint32_t destination_epoch = 0;  // incarnation that the packet is meant for; 0: the sender does not know it yet
  std::uint32_t sequence = 0;           // with kPacketHasData: number of the packet on its path
  std::uint32_t cumulative_ack = 0;     // every packet before this one has been taken
  std::uint64_t selective_ack = 0;      // bit i: packet cumulative_ack + 1 + i has been taken
  std::uint16_t ahead = 0;              // packets between the sender's oldest unacknowledged one and this one
  std::uint16_t ack_delay = 0;          // microseconds from the newest arrival to this acknowledgement, or the most
  std::uint32_t checksum = 0;           // CRC32C; this field counts as 0
  std::uint32_t association = 0;        // only with kPacketShort, see below

  bool is_short() const { return (flags & kPacketShort) != 0; }
  std::size_t size() const { return is_short() ? kShortHeaderSize : kPacketHeaderSize; }
};

// What a short header has in the place of all that does not change between two incarnations on a path: CRC32C of
// instance, path, cookie, source, destination and epochs as they lie in the long one. Two that differ in one of the
// tasks, or in one of the epochs, have different ones for certain.
std::uint32_t association_of(const PacketHeader& header);

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

// `header` is complete when the answer is ok (of a short one, what it carries), and not to be used otherwise. Says
// nothing about the cookie.
DecodeResult decode(std::span<const std::byte> packet, PacketHeader& header);

// Whether at least kShortHeaderSize bytes begin like a short header.
bool begins_short(const std::byte* encoded_header);

// Where the cookie lies, to be looked at before anything else of a packet of at least kPacketHeaderSize bytes that has
// no short header.
inline constexpr std::size_t kCookieAt = 8;
std::uint64_t load_cookie(const std::byte* encoded_header);

// Whether an encoded header has kPacketAckWanted.
bool asks_for_ack(const std::byte* encoded_header);

// CRC32C over an encoded header and what follows it, in up to two pieces: `head` begins with the header.
std::uint32_t packet_checksum(std::span<const std::byte> head, std::span<const std::byte> data);

// Sets the field of a header that was encoded with kPacketHasChecksum.
void store_checksum(std::byte* encoded_header, std::uint32_t checksum);

// The packet's checksum is right. `packet` decodes.
bool checksum_matches(std::span<const std::byte> packet, const PacketHeader& header);

}  // namespace openlapi::wire
