#include "nic/udp/send_batch.h"

#include <cstring>

#include "dataplane/base/check.h"

namespace openlapi::udp {

void SendBatch::build(std::span<const OutgoingPacket> packets, const BatchLimits& limits) {
  piece_count_ = packet_count_ = copied_ = 0;
  last_is_copy_ = false;
  std::size_t total = 0;
  packet_count_ = count_fitting(packets, limits.datagram, total);
  if (packet_count_ == 0) {  // longer than a datagram should be: alone, and IP cuts it into fragments
    packet_count_ = 1;
    total = frame_size(packets.front().length);
  }
  segment_ = static_cast<std::uint32_t>(total);
  datagrams_ = 1;
  if (total <= limits.segment) {
    std::size_t size = total;
    while (size == segment_ && datagrams_ < kMaxDatagrams && total + segment_ <= kLongestFramedDatagram) {
      const std::size_t more = count_fitting(packets.subspan(packet_count_), segment_, size);
      if (more == 0) break;
      packet_count_ += more;
      total += size;
      ++datagrams_;
    }
  }
  OPENLAPI_CHECK(total <= kLongestFramedDatagram);
  for (const OutgoingPacket& packet : packets.first(packet_count_)) append_packet(packet);
}

std::size_t SendBatch::count_fitting(std::span<const OutgoingPacket> packets, std::size_t limit,
                                     std::size_t& total) const {
  std::size_t count = 0;
  total = 0;
  for (const OutgoingPacket& packet : packets) {
    const std::size_t size = frame_size(packet.length);
    if (total + size > limit) break;
    total += size;
    ++count;
  }
  return count;
}

void SendBatch::append_packet(const OutgoingPacket& packet) {
  static constexpr std::array<std::byte, kFrameAlignment> kZeros{};
  const FrameHeader header = make_frame_header(packet.length);
  append_copy(&header, sizeof(header));
  for (const ConstBuffer& piece : packet.pieces) {
    if (piece.length <= kCopyLimit) {
      append_copy(piece.data, piece.length);
    } else {
      append_reference(piece.data, piece.length);
    }
  }
  append_copy(kZeros.data(), padded(packet.length) - packet.length);
}

void SendBatch::append_copy(const void* data, std::size_t length) {
  if (length == 0) return;
  std::byte* place = copies_.data() + copied_;
  std::memcpy(place, data, length);
  copied_ += length;
  if (last_is_copy_) {
    pieces_[piece_count_ - 1].iov_len += length;
    return;
  }
  pieces_[piece_count_++] = {place, length};
  last_is_copy_ = true;
}

void SendBatch::append_reference(const void* data, std::size_t length) {
  pieces_[piece_count_++] = {const_cast<void*>(data), length};
  last_is_copy_ = false;
}

}  // namespace openlapi::udp
