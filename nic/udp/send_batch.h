// The frames of several packets to one peer that go to the kernel in one call: as one datagram, or as a run of
// datagrams of equal length (the last may be shorter) that the kernel or the adapter splits (segmentation offload).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/transport/packet.h"
#include "nic/udp/datagram_frame.h"

namespace openlapi::udp {

struct BatchLimits {
  std::uint32_t datagram;  // bytes; packets share a datagram up to this length; a longer packet goes alone
  std::uint32_t segment;   // bytes of the longest datagram in a segmented run; 0: no segmentation
};

class SendBatch {
 public:
  // Gathers as many packets from the front as one call can carry, at least one. Everything is copied, long pieces too:
  // the kernel reads one warm, aligned buffer faster than it follows a gather list through cold memory (0.1 to 0.7 us
  // for 8 KiB, a sixth of a stream's bandwidth).
  void build(std::span<const OutgoingPacket> packets, const BatchLimits& limits);

  // Valid until the next build().
  std::span<const std::byte> bytes() const { return {bytes_.data(), size_}; }
  std::size_t packets() const { return packet_count_; }
  std::uint32_t segment() const { return datagrams_ > 1 ? segment_ : 0; }  // 0: a single datagram

 private:
  static constexpr std::size_t kMaxDatagrams = 64;  // the kernel's limit for one segmented call (UDP_MAX_SEGMENTS)

  static std::size_t count_fitting(std::span<const OutgoingPacket> packets, std::size_t limit, std::size_t& total);
  void append(const OutgoingPacket& packet);

  std::size_t packet_count_ = 0;
  std::size_t datagrams_ = 0;
  std::uint32_t segment_ = 0;
  std::size_t size_ = 0;  // bytes used of bytes_
  alignas(64) std::array<std::byte, kLongestFramedDatagram> bytes_;
};

}  // namespace openlapi::udp
