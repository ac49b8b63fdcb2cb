// What this transport puts on an Ethernet: one packet per frame, in UDP over IPv4, so that switches, receive-side
// scaling and flow rules know what to do with it.
//
//   offset  bytes  (numbers of the network's headers are big-endian)
//   0       14     Ethernet: destination, source, type 0x0800
//   14      20     IPv4: no options, never fragmented (DF), identification 0, time to live 64, protocol 17
//   34      8      UDP; checksum 0 (none) where frames stay in this machine's memory
//   42      2      kFrameMark; kPathMark: no packet follows, path_message.h says what
//   44      4      the receiver's token, a random number that only its address tells
//   48             the packet; frames below 60 bytes are padded with zeros
//
// In a VLAN, or with a priority, four bytes follow the hardware addresses: 0x8100, and the priority (3 bits) and the
// VLAN's number (12 bits, 0: none, the priority alone). An end takes what has its VLAN's number, 0, or no tag.
// The mark and the token make the packet begin at a multiple of 8 behind an aligned frame, and tell strangers' frames
// early. They are no protection against somebody who reads the wire.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace openlapi::dpdk {

using MacAddress = std::array<std::uint8_t, 6>;
inline constexpr MacAddress kBroadcast = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

inline constexpr std::size_t kTagLength = 4;         // of a VLAN
inline constexpr std::uint16_t kVlanNumber = 0xfff;  // bits of a tag

// One end of the path that frames take.
struct FrameEnd {
  MacAddress mac{};
  std::uint32_t address = 0;  // IPv4, as a number: 10.0.0.1 is 0x0a000001
  std::uint16_t port = 0;     // UDP
  std::uint32_t token = 0;
  std::uint16_t vlan = 0;  // 0: none
};

// What switches and routers tell frames by.
struct FrameMarks {
  std::optional<std::uint16_t> tag{};  // priority << 13 | VLAN
  std::uint8_t dscp = 0;               // 0 to 63; ECN stays 0: nothing here would heed it

  std::uint16_t vlan() const { return tag.value_or(0) & kVlanNumber; }
};

inline constexpr std::size_t kEthernetHeader = 14;
inline constexpr std::size_t kEtherType = 12;      // offset in the frame
inline constexpr std::size_t kHeaderLength = 48;   // all that precedes the packet
inline constexpr std::size_t kShortestFrame = 60;  // without the checksum (FCS), which the adapter adds
inline constexpr std::uint16_t kFrameMark = 0x4c31;
inline constexpr std::uint16_t kPathMark = 0x4c32;                                   // path_message.h
inline constexpr std::size_t kMark = 42;                                             // offset in the frame
inline constexpr std::uint32_t kHeaderInDatagram = kHeaderLength - kEthernetHeader;  // bytes of an IP packet
static_assert(kHeaderLength % 8 == 0);

std::string to_text(const MacAddress& mac);
std::string ipv4_to_text(std::uint32_t address);

// Who makes UDP's checksum. The adapter expects the pseudo header's sum in its place.
enum class UdpSum : std::uint8_t { none, adapter, processor };

// The headers of all frames from one end to another, except for the fields that depend on the length.
class FrameHeader {
 public:
  FrameHeader() = default;
  FrameHeader(const FrameEnd& from, const FrameEnd& to, UdpSum sum = UdpSum::none, const FrameMarks& marks = {});

  // The end that frames come from has another hardware address.
  void come_from(const MacAddress& mac);

  // Writes what precedes the packet in a frame that carries one of `packet` bytes. Its length: kHeaderLength, and that
  // of a tag if there is one.
  std::size_t write(std::byte* frame, std::uint32_t packet) const;

  // Once the packet lies behind what write() has written.
  void add_sum(std::byte* frame, std::uint32_t packet) const {
    if (sum_ == UdpSum::processor) store_sum(frame + (tag_ ? kTagLength : 0), packet);
  }

 private:
  void store_sum(std::byte* untagged, std::uint32_t packet) const;
  void write_untagged(std::byte* frame, std::uint32_t packet) const;

  std::array<std::byte, kHeaderLength> bytes_{};
  std::uint32_t ip_sum_ = 0;      // of the IPv4 header without its length
  std::uint32_t pseudo_sum_ = 0;  // of UDP's pseudo header without the length
  UdpSum sum_ = UdpSum::none;
  std::optional<std::uint16_t> tag_;
};

// Puts a tag of a VLAN into a frame that begins kTagLength bytes later than it will.
void insert_tag(std::byte* frame, std::uint16_t tag);

enum class FrameKind : std::uint8_t {
  packet,   // for this end
  path,     // for this end: path_message.h
  arp,      // for this end or everybody; arp_message.h
  foreign,  // anybody else's
  damaged,  // meant for this end, but wrong in itself
};

struct FrameView {
  FrameKind kind = FrameKind::foreign;
  std::uint32_t length = 0;  // of a packet, or a message of that kind, which begins at kHeaderLength + tag
  std::size_t tag = 0;       // bytes that a tag takes: what follows it begins so much later than in other frames
};

// What the adapter has already checked.
struct AdapterVerdict {
  bool udp_good = false;  // UDP's checksum was present and right
  bool ip_good = false;   // the IP header is intact
};

// Where a frame comes from that parse_frame() calls a packet or path, with a tag of so many bytes; without a token.
FrameEnd sender_of(const std::byte* frame, std::size_t tag);

// Classifies a frame that arrived at `own`; bytes after the datagram are padding.
FrameView parse_frame(std::span<const std::byte> frame, const FrameEnd& own, AdapterVerdict verdict = {});

// IncomingPacket::origin of a frame that parse_frame() calls a packet (without its tag: from FrameView::tag on), and
// the same for an IPv4 address; never 0.
std::uint64_t origin_of(const std::byte* frame);
constexpr std::uint64_t origin_of(std::uint32_t address) { return std::uint64_t{1} << 32 | address; }

// The sum of 16-bit big-endian words, not folded; an odd last byte counts as if a zero followed it.
std::uint64_t sum_words(std::span<const std::byte> bytes);
std::uint16_t fold(std::uint64_t sum);  // to 16 bits

}  // namespace openlapi::dpdk
