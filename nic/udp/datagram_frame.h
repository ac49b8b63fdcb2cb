// What this transport puts into a datagram: one or more frames, each a packet behind an 8-byte header and padded with
// zeros to a multiple of 8 bytes.
//
//   offset 0  uint32  length of the packet in bytes, little-endian
//   offset 4  uint32  length XOR kFrameMark: tells frames from strangers' bytes early; it is no protection
//   offset 8  the packet, then 0-7 bytes of padding
//
// Why frames: datagrams that the kernel coalesces (UDP_GRO) come out as a mere sequence of frames, so the receiver
// needs no control message to find their borders and can use recv(), which is 0.14 us cheaper than recvmsg() with room
// for one. Every datagram is a multiple of 8 long, so coalesced packets stay 8-byte aligned in place. And packets that
// wait together share a datagram, which costs the kernel the same as one packet.
#pragma once

#include <netinet/in.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace openlapi::udp {

static_assert(std::endian::native == std::endian::little, "frame headers are copied as they lie in memory");

struct FrameHeader {
  std::uint32_t length;
  std::uint32_t check;
};
static_assert(sizeof(FrameHeader) == 8 && offsetof(FrameHeader, check) == 4);

inline constexpr std::uint32_t kFrameMark = 0x3150414c;  // "LAP1"
inline constexpr std::size_t kFrameAlignment = 8;

// The longest IPv4 datagram's payload, and the longest that is a multiple of kFrameAlignment.
inline constexpr std::uint32_t kLongestDatagram = 65507;
inline constexpr std::uint32_t kLongestFramedDatagram = kLongestDatagram & ~7U;

// IncomingPacket::origin of what comes from an address; never 0.
inline std::uint64_t origin_of(const sockaddr_in& address) { return std::uint64_t{1} << 32 | address.sin_addr.s_addr; }

constexpr std::size_t padded(std::size_t length) { return (length + 7) & ~std::size_t{7}; }
constexpr std::size_t frame_size(std::size_t packet_length) { return sizeof(FrameHeader) + padded(packet_length); }
constexpr FrameHeader make_frame_header(std::uint32_t length) { return {length, length ^ kFrameMark}; }

// Takes the first frame off `rest`, which starts at a multiple of 8, and points `packet` at its bytes. False: the bytes
// are no frame (or less than a whole one); nothing behind them can be trusted either.
inline bool next_frame(std::span<std::byte>& rest, std::span<std::byte>& packet) {
  if (rest.size() < sizeof(FrameHeader)) return false;
  FrameHeader header;
  std::memcpy(&header, rest.data(), sizeof(header));
  if ((header.length ^ kFrameMark) != header.check) return false;
  if (header.length > kLongestDatagram || frame_size(header.length) > rest.size()) return false;
  packet = rest.subspan(sizeof(header), header.length);
  rest = rest.subspan(frame_size(header.length));
  return true;
}

// Whether the bytes are frames and nothing else.
inline bool are_frames(std::span<std::byte> bytes) {
  std::span<std::byte> packet;
  while (!bytes.empty()) {
    if (!next_frame(bytes, packet)) return false;
  }
  return true;
}

}  // namespace openlapi::udp
