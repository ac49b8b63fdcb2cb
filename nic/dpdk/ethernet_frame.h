// What this transport puts on an Ethernet: one packet per frame, in UDP over IPv4, so that switches, receive-side
// scaling and flow rules know what to do with it.
//
//   offset  bytes  (numbers of the network's headers are big-endian)
//   0       14     Ethernet: destination, source, type 0x0800
//   14      20     IPv4: no options, never fragmented (DF), identification 0, time to live 64, protocol 17
//   34      8      UDP; checksum 0 (none) unless the adapter fills it in
//   42      2      kFrameMark
//   44      4      the receiver's token, a random number that only its address tells
//   48             the packet; frames below 60 bytes are padded with zeros
//
// The mark and the token make the packet begin at a multiple of 8 behind an aligned frame, and tell strangers' frames
// early. They are no protection against somebody who reads the wire.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace openlapi::dpdk {

using MacAddress = std::array<std::uint8_t, 6>;
inline constexpr MacAddress kBroadcast = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

// One end of the path that frames take.
struct FrameEnd {
  MacAddress mac{};
  std::uint32_t address = 0;  // IPv4, as a number: 10.0.0.1 is 0x0a000001
  std::uint16_t port = 0;     // UDP
  std::uint32_t token = 0;
};

inline constexpr std::size_t kEthernetHeader = 14;
inline constexpr std::size_t kEtherType = 12;      // offset in the frame
inline constexpr std::size_t kHeaderLength = 48;   // all that precedes the packet
inline constexpr std::size_t kShortestFrame = 60;  // without the checksum (FCS), which the adapter adds
inline constexpr std::uint16_t kFrameMark = 0x4c31;
inline constexpr std::uint32_t kHeaderInDatagram = kHeaderLength - kEthernetHeader;  // bytes of an IP packet
static_assert(kHeaderLength % 8 == 0);

std::string to_text(const MacAddress& mac);
std::string ipv4_to_text(std::uint32_t address);

// The headers of all frames from one end to another, except for the fields that depend on the length.
class FrameHeader {
 public:
  FrameHeader() = default;
  // `adapter_sums`: the adapter fills in UDP's checksum and expects the pseudo header's sum in its place.
  FrameHeader(const FrameEnd& from, const FrameEnd& to, bool adapter_sums = false);

  // The end that frames come from has another hardware address.
  void come_from(const MacAddress& mac);

  // Writes the first kHeaderLength bytes of a frame that carries a packet of `packet` bytes.
  void write(std::byte* frame, std::uint32_t packet) const;

 private:
  std::array<std::byte, kHeaderLength> bytes_{};
  std::uint32_t ip_sum_ = 0;      // of the IPv4 header without its length
  std::uint32_t pseudo_sum_ = 0;  // of UDP's pseudo header without the length
  bool adapter_sums_ = false;
};

enum class FrameKind : std::uint8_t {
  packet,   // for this end
  arp,      // for this end or everybody; arp_message.h
  foreign,  // anybody else's
  damaged,  // meant for this end, but wrong in itself
};

struct FrameView {
  FrameKind kind = FrameKind::foreign;
  std::uint32_t length = 0;  // of a packet, which begins at kHeaderLength
};

// What the adapter has already checked.
struct AdapterVerdict {
  bool udp_good = false;  // UDP's checksum was present and right
  bool ip_good = false;   // the IP header is intact
};

// Classifies a frame that arrived at `own`; bytes after the datagram are padding.
FrameView parse_frame(std::span<const std::byte> frame, const FrameEnd& own, AdapterVerdict verdict = {});

// IncomingPacket::origin of a frame that parse_frame() calls a packet, and the same for an IPv4 address; never 0.
std::uint64_t origin_of(const std::byte* frame);
constexpr std::uint64_t origin_of(std::uint32_t address) { return std::uint64_t{1} << 32 | address; }

// The sum of 16-bit big-endian words, not folded; an odd last byte counts as if a zero followed it.
std::uint64_t sum_words(std::span<const std::byte> bytes);
std::uint16_t fold(std::uint64_t sum);  // to 16 bits

}  // namespace openlapi::dpdk
