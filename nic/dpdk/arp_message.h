// ARP (RFC 826): "who has this IPv4 address?" A transport answers for its own address, so that switches, bridges and
// tools know it. It asks for routers alone: peers are asked by datagrams (path_message.h), which isolated ports bring,
// too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "nic/dpdk/ethernet_frame.h"

namespace openlapi::dpdk {

struct ArpMessage {
  bool request = false;  // otherwise an answer
  MacAddress sender_mac{};
  std::uint32_t sender_address = 0;
  MacAddress target_mac{};
  std::uint32_t target_address = 0;
};

using ArpFrame = std::array<std::byte, kShortestFrame>;

// The whole Ethernet frame, addressed to `to`.
ArpFrame make_arp_frame(const MacAddress& to, const ArpMessage& message);

// The question that `own` broadcasts about `address`, and its answer to a question for its own address.
ArpFrame make_arp_question(const FrameEnd& own, std::uint32_t address);
ArpFrame make_arp_answer(const FrameEnd& own, const ArpMessage& question);

// False: the frame is not an ARP question or answer about an IPv4 address on Ethernet.
bool parse_arp_frame(std::span<const std::byte> frame, ArpMessage& message);

}  // namespace openlapi::dpdk
