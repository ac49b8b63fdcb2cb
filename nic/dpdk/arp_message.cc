#include "nic/dpdk/arp_message.h"

#include <cstring>

#include "nic/dpdk/network_bytes.h"

namespace openlapi::dpdk {
namespace {

constexpr std::size_t kArp = kEthernetHeader;
constexpr std::size_t kLength = kArp + 28;
constexpr std::uint32_t kEthernetAndIpv4 = 0x00010800;
constexpr std::uint16_t kAddressLengths = 0x0604;
constexpr std::uint16_t kRequest = 1;
constexpr std::uint16_t kReply = 2;

// Offsets in the frame.
constexpr std::size_t kOperation = kArp + 6;
constexpr std::size_t kSenderMac = kArp + 8;
constexpr std::size_t kSenderAddress = kArp + 14;
constexpr std::size_t kTargetMac = kArp + 18;
constexpr std::size_t kTargetAddress = kArp + 24;
static_assert(kTargetAddress + 4 == kLength);

}  // namespace

ArpFrame make_arp_frame(const MacAddress& to, const ArpMessage& message) {
  ArpFrame frame{};
  std::byte* const bytes = frame.data();
  std::memcpy(bytes, to.data(), to.size());
  std::memcpy(bytes + to.size(), message.sender_mac.data(), message.sender_mac.size());
  store16(bytes + kEtherType, 0x0806);
  store32(bytes + kArp, kEthernetAndIpv4);
  store16(bytes + kArp + 4, kAddressLengths);
  store16(bytes + kOperation, message.request ? kRequest : kReply);
  std::memcpy(bytes + kSenderMac, message.sender_mac.data(), message.sender_mac.size());
  store32(bytes + kSenderAddress, message.sender_address);
  std::memcpy(bytes + kTargetMac, message.target_mac.data(), message.target_mac.size());
  store32(bytes + kTargetAddress, message.target_address);
  return frame;
}

ArpFrame make_arp_question(const FrameEnd& own, std::uint32_t address) {
  return make_arp_frame(kBroadcast, {.request = true,
                                     .sender_mac = own.mac,
                                     .sender_address = own.address,
                                     .target_mac = {},
                                     .target_address = address});
}

ArpFrame make_arp_answer(const FrameEnd& own, const ArpMessage& question) {
  return make_arp_frame(question.sender_mac, {.request = false,
                                              .sender_mac = own.mac,
                                              .sender_address = own.address,
                                              .target_mac = question.sender_mac,
                                              .target_address = question.sender_address});
}

bool parse_arp_frame(std::span<const std::byte> frame, ArpMessage& message) {
  if (frame.size() < kLength) return false;
  const std::byte* const bytes = frame.data();
  const std::uint16_t operation = load16(bytes + kOperation);
  if (load32(bytes + kArp) != kEthernetAndIpv4 || load16(bytes + kArp + 4) != kAddressLengths) return false;
  if (operation != kRequest && operation != kReply) return false;
  message.request = operation == kRequest;
  std::memcpy(message.sender_mac.data(), bytes + kSenderMac, message.sender_mac.size());
  message.sender_address = load32(bytes + kSenderAddress);
  std::memcpy(message.target_mac.data(), bytes + kTargetMac, message.target_mac.size());
  message.target_address = load32(bytes + kTargetAddress);
  const bool unicast = (message.sender_mac[0] & 1) == 0;
  return unicast && message.sender_address != 0;
}

}  // namespace openlapi::dpdk
