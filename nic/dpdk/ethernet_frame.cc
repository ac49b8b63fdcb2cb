#include "nic/dpdk/ethernet_frame.h"

#include <bit>
#include <cstdio>
#include <cstring>

#include "nic/dpdk/network_bytes.h"

namespace openlapi::dpdk {
namespace {

constexpr std::uint16_t kTypeIpv4 = 0x0800;
constexpr std::uint16_t kTypeArp = 0x0806;
constexpr std::uint16_t kTypeTag = 0x8100;
constexpr std::uint16_t kDontFragment = 0x4000;
constexpr std::uint8_t kProtocolUdp = 17;
constexpr std::uint32_t kIpHeader = 20;
constexpr std::uint32_t kUdpHeader = 8;
constexpr std::uint32_t kOwnHeader = 6;

// Offsets in the frame.
constexpr std::size_t kSource = 6;
constexpr std::size_t kIp = kEthernetHeader;
constexpr std::size_t kIpClass = kIp + 1;
constexpr std::size_t kIpLength = kIp + 2;
constexpr std::size_t kIpFragment = kIp + 6;
constexpr std::size_t kIpProtocol = kIp + 9;
constexpr std::size_t kIpChecksum = kIp + 10;
constexpr std::size_t kIpFrom = kIp + 12;
constexpr std::size_t kIpTo = kIp + 16;
constexpr std::size_t kUdp = kIp + kIpHeader;
constexpr std::size_t kUdpTo = kUdp + 2;
constexpr std::size_t kUdpLength = kUdp + 4;
constexpr std::size_t kUdpChecksum = kUdp + 6;
constexpr std::size_t kToken = kMark + 2;
static_assert(kMark == kUdp + kUdpHeader);
static_assert(kMark + kOwnHeader == kHeaderLength);

bool udp_checksum_holds(const std::byte* datagram, std::uint32_t length) {
  const std::span<const std::byte> addresses(datagram + kIpFrom - kIp, 8);
  const std::span<const std::byte> content(datagram + kIpHeader, length - kIpHeader);
  const std::uint64_t sum = sum_words(addresses) + kProtocolUdp + content.size() + sum_words(content);
  return fold(sum) == 0xffff;
}

// An IPv4 packet of `room` bytes at most that has this end's hardware address, or everybody's.
FrameView parse_ipv4(const std::byte* frame, std::size_t room, const FrameEnd& own, AdapterVerdict verdict) {
  const std::byte* const datagram = frame + kIp;
  if (room < kIpHeader) return {FrameKind::damaged};
  if (load32(frame + kIpTo) != own.address || load16(frame + kIpProtocol - 1) % 256 != kProtocolUdp) return {};
  const std::uint32_t length = load16(frame + kIpLength);
  if (std::to_integer<unsigned>(datagram[0]) != 0x45) return {};  // options: nothing that this transport sends
  if ((load16(frame + kIpFragment) & ~kDontFragment) != 0) return {};
  if (!verdict.ip_good && fold(sum_words({datagram, kIpHeader})) != 0xffff) return {FrameKind::damaged};
  if (length > room || length < kIpHeader + kUdpHeader) return {FrameKind::damaged};
  if (load16(frame + kUdpTo) != own.port) return {};
  if (load16(frame + kUdpLength) != length - kIpHeader) return {FrameKind::damaged};
  if (length < kHeaderInDatagram || load32(frame + kToken) != own.token) return {};
  const std::uint16_t mark = load16(frame + kMark);
  if (mark != kFrameMark && mark != kPathMark) return {};
  if (!verdict.udp_good && load16(frame + kUdpChecksum) != 0 && !udp_checksum_holds(datagram, length)) {
    return {FrameKind::damaged};
  }
  return {mark == kFrameMark ? FrameKind::packet : FrameKind::path, length - kHeaderInDatagram};
}

// What follows the hardware addresses and a tag, read as if the frame began kEtherType before it.
FrameView parse_content(std::span<const std::byte> frame, const FrameEnd& own, bool mine, bool everybodys,
                        AdapterVerdict verdict) {
  const std::uint16_t type = load16(frame.data() + kEtherType);
  if (type == kTypeIpv4 && (mine || everybodys)) {
    const FrameView view = parse_ipv4(frame.data(), frame.size() - kEthernetHeader, own, verdict);
    return mine || view.kind == FrameKind::path ? view : FrameView{};
  }
  return {type == kTypeArp && (mine || everybodys) ? FrameKind::arp : FrameKind::foreign};
}

}  // namespace

std::string to_text(const MacAddress& mac) {
  char text[18];
  std::snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
  return text;
}

std::string ipv4_to_text(std::uint32_t address) {
  return std::to_string(address >> 24) + "." + std::to_string(address >> 16 & 255) + "." +
         std::to_string(address >> 8 & 255) + "." + std::to_string(address & 255);
}

std::uint64_t origin_of(const std::byte* frame) { return origin_of(load32(frame + kIpFrom)); }

// The hardware addresses are before the tag.
FrameEnd sender_of(const std::byte* frame, std::size_t tag) {
  FrameEnd sender{.address = load32(frame + tag + kIpFrom), .port = load16(frame + tag + kUdp)};
  std::memcpy(sender.mac.data(), frame + kSource, sender.mac.size());
  return sender;
}

// The sum is the same in any order of bytes, but for the order of its own two: whole words are added as they lie.
std::uint64_t sum_words(std::span<const std::byte> bytes) {
  std::uint64_t sum = 0;
  std::size_t at = 0;
  for (; at + sizeof(std::uint32_t) <= bytes.size(); at += sizeof(std::uint32_t)) {
    std::uint32_t word;  // its halves meet in fold()
    std::memcpy(&word, bytes.data() + at, sizeof word);
    sum += word;
  }
  std::uint16_t sum_of_two = fold(sum);
  if constexpr (std::endian::native == std::endian::little) sum_of_two = __builtin_bswap16(sum_of_two);
  std::uint64_t whole = sum_of_two;
  if (at + 2 <= bytes.size()) {
    whole += load16(bytes.data() + at);
    at += 2;
  }
  if (at < bytes.size()) whole += std::to_integer<std::uint64_t>(bytes[at]) << 8;
  return whole;
}

std::uint16_t fold(std::uint64_t sum) {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

FrameHeader::FrameHeader(const FrameEnd& from, const FrameEnd& to, UdpSum sum, const FrameMarks& marks)
    : sum_(sum), tag_(marks.tag) {
  std::byte* const frame = bytes_.data();
  std::memcpy(frame, to.mac.data(), to.mac.size());
  std::memcpy(frame + kSource, from.mac.data(), from.mac.size());
  store16(frame + kEtherType, kTypeIpv4);
  frame[kIp] = std::byte{0x45};
  frame[kIpClass] = static_cast<std::byte>(marks.dscp << 2);
  store16(frame + kIpFragment, kDontFragment);
  store16(frame + kIpProtocol - 1, 64 << 8 | kProtocolUdp);
  store32(frame + kIpFrom, from.address);
  store32(frame + kIpTo, to.address);
  store16(frame + kUdp, from.port);
  store16(frame + kUdpTo, to.port);
  store16(frame + kMark, kFrameMark);
  store32(frame + kToken, to.token);
  ip_sum_ = fold(sum_words({frame + kIp, kIpHeader}));
  pseudo_sum_ = fold(sum_words({frame + kIpFrom, 8}) + kProtocolUdp);
}

void FrameHeader::come_from(const MacAddress& mac) { std::memcpy(bytes_.data() + kSource, mac.data(), mac.size()); }

void insert_tag(std::byte* frame, std::uint16_t tag) {
  std::memmove(frame, frame + kTagLength, kEtherType);
  store16(frame + kEtherType, kTypeTag);
  store16(frame + kEtherType + 2, tag);
}

std::size_t FrameHeader::write(std::byte* frame, std::uint32_t packet) const {
  if (tag_) [[unlikely]] {
    write_untagged(frame + kTagLength, packet);
    insert_tag(frame, *tag_);
    return kHeaderLength + kTagLength;
  }
  write_untagged(frame, packet);
  return kHeaderLength;
}

inline void FrameHeader::write_untagged(std::byte* frame, std::uint32_t packet) const {
  std::memcpy(frame, bytes_.data(), kHeaderLength);
  const std::uint32_t length = packet + kHeaderInDatagram;
  store16(frame + kIpLength, static_cast<std::uint16_t>(length));
  store16(frame + kIpChecksum, static_cast<std::uint16_t>(~fold(ip_sum_ + length)));
  store16(frame + kUdpLength, static_cast<std::uint16_t>(length - kIpHeader));
  if (sum_ == UdpSum::adapter) store16(frame + kUdpChecksum, fold(pseudo_sum_ + length - kIpHeader));
}

// The place of the sum is 0 until then. A sum of 0 is written as its other form: 0 would say that there is none.
void FrameHeader::store_sum(std::byte* untagged, std::uint32_t packet) const {
  const std::uint32_t length = packet + kHeaderInDatagram - kIpHeader;
  const auto sum = static_cast<std::uint16_t>(~fold(pseudo_sum_ + length + sum_words({untagged + kUdp, length})));
  store16(untagged + kUdpChecksum, sum != 0 ? sum : std::uint16_t{0xffff});
}

FrameView parse_frame(std::span<const std::byte> frame, const FrameEnd& own, AdapterVerdict verdict) {
  if (frame.size() < kEthernetHeader) return {FrameKind::foreign};
  const bool mine = std::memcmp(frame.data(), own.mac.data(), own.mac.size()) == 0;
  const bool everybodys = !mine && std::memcmp(frame.data(), kBroadcast.data(), kBroadcast.size()) == 0;
  if (load16(frame.data() + kEtherType) != kTypeTag) [[likely]]
    return parse_content(frame, own, mine, everybodys, verdict);
  if (frame.size() < kEthernetHeader + kTagLength) return {FrameKind::foreign};
  const std::uint16_t vlan = load16(frame.data() + kEtherType + 2) & kVlanNumber;
  if (vlan != 0 && vlan != own.vlan) return {FrameKind::foreign};
  FrameView view = parse_content(frame.subspan(kTagLength), own, mine, everybodys, verdict);
  view.tag = kTagLength;
  return view;
}

}  // namespace openlapi::dpdk
