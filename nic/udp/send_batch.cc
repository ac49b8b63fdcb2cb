#include "nic/udp/send_batch.h"

#include <cstring>

#include "dataplane/base/check.h"

namespace openlapi::udp {

void SendBatch::build(std::span<const OutgoingPacket> packets, const BatchLimits& limits) {
  size_ = 0;
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
  for (const OutgoingPacket& packet : packets.first(packet_count_)) append(packet);
}

std::size_t SendBatch::count_fitting(std::span<const OutgoingPacket> packets, std::size_t limit,
                                     std::size_t& total) {
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

void SendBatch::append(const OutgoingPacket& packet) {
  const FrameHeader header = make_frame_header(packet.length);
  std::byte* const frame = bytes_.data() + size_;
  std::memcpy(frame, &header, sizeof(header));
  std::byte* const end = copy_pieces(frame + sizeof(header), packet.pieces);
  std::memset(end, 0, padded(packet.length) - packet.length);
  size_ += frame_size(packet.length);
}

}  // namespace openlapi::udp
