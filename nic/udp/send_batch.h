// One call to the kernel: the frames of several packets to one peer, as one datagram or as a run of datagrams of the
// same length (the last may be shorter) that the kernel or the card cuts apart.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/transport/packet.h"
#include "nic/udp/datagram_frame.h"

namespace openlapi::udp {

struct BatchLimits {
  std::uint32_t datagram;  // bytes; packets share a datagram up to here. A longer packet goes alone.
  std::uint32_t segment;   // bytes; longest datagram of a segmented run, 0: no segmentation
};

class SendBatch {
 public:
  // Gathers as many packets from the front as one call can carry, at least one. What it points to is valid until the
  // next build() and as long as the packets' pieces are. Short pieces are copied: a gather list's entry costs more.
  void build(std::span<const OutgoingPacket> packets, const BatchLimits& limits);

  std::span<const iovec> pieces() const { return {pieces_.data(), piece_count_}; }
  std::size_t packets() const { return packet_count_; }
  std::uint32_t segment() const { return datagrams_ > 1 ? segment_ : 0; }  // 0: a single datagram

 private:
  static constexpr std::size_t kCopyLimit = 1024;   // bytes; pieces up to here are copied
  static constexpr std::size_t kMaxDatagrams = 64;  // the kernel's limit for one segmented call (UDP_MAX_SEGMENTS)
  // Pieces longer than kCopyLimit that fit a datagram, and the copied stretches between them.
  static constexpr std::size_t kMaxPieces = 2 * (kLongestDatagram / kCopyLimit + 1) + 1;

  std::size_t count_fitting(std::span<const OutgoingPacket> packets, std::size_t limit, std::size_t& total) const;
  void append_packet(const OutgoingPacket& packet);
  void append_copy(const void* data, std::size_t length);
  void append_reference(const void* data, std::size_t length);

  std::array<iovec, kMaxPieces> pieces_;
  std::size_t piece_count_ = 0;
  std::size_t packet_count_ = 0;
  std::size_t datagrams_ = 0;
  std::uint32_t segment_ = 0;
  std::size_t copied_ = 0;       // bytes used of copies_
  bool last_is_copy_ = false;    // the last piece ends at copies_ + copied_
  alignas(64) std::array<std::byte, kLongestFramedDatagram> copies_;
};

}  // namespace openlapi::udp
