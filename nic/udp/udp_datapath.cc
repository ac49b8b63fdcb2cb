#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "dataplane/base/check.h"
#include "nic/udp/udp_transport.h"
#include "dataplane/base/cancellation.h"

namespace openlapi {
namespace {

// An empty read costs 0.16 us, so a quiet transport stops after the first datagram of a burst. After that many bursts
// in a row that found something it is worth looking for more.
constexpr unsigned kBusyAfter = 4;
constexpr unsigned kReadsPerBusyBurst = 32;

// Datagrams without a packet, from strangers who know what frames look like, that a burst reads besides: about as many
// as a socket's buffer of the usual size holds, in 0.1 ms. One at a time they would stay in front of the packets for as
// long as more of them come, and whoever polls would take the transport for idle and give its core away between two.
constexpr unsigned kUselessReadsPerBurst = 256;

}  // namespace

std::size_t UdpTransport::send_burst(PeerIndex peer, std::span<const OutgoingPacket> packets) {
  if (crowded_ && crowded_->as_of != config_.links->changes()) [[unlikely]]
    look_at_network();
  udp::WriteSocket& socket = write_socket(peer);
  bool connected = socket.connected_to(peer);
  const sockaddr_in* destination = nullptr;
  if (connected) {
    socket.used_by_connected_peer();
  } else {
    const auto found = peers_.find(peer);
    OPENLAPI_CHECK(found != peers_.end());
    if (crowded_) [[unlikely]]
      socket.leave_over(crowded_->contains(found->second.sin_addr) ? crowded_->interface : 0);
    connected = socket.consider(peer, found->second);
    if (!connected) destination = &found->second;
  }
  const std::size_t offered = packets.size();
  packets = packets.first(std::min<std::size_t>(offered, kMaxBurst));
  std::size_t taken = 0;
  while (taken < packets.size()) {
    batch_.build(packets.subspan(taken), batch_limits(socket, connected));
    const udp::Sent result = socket.send(batch_.bytes(), batch_.segment(), destination);
    if (result == udp::Sent::full) break;
    if (result == udp::Sent::segment_refused) {
      segment_refused(socket, connected);
      continue;
    }
    if (result == udp::Sent::lost) unsendable_packets_ += batch_.packets();
    taken += batch_.packets();
  }
  counters_.packets_sent += taken;
  if (taken < offered) ++counters_.send_refused;
  return taken;
}

// Another interface may have the address now, and others may have come to its network.
void UdpTransport::look_at_network() {
  const std::uint32_t changes = config_.links->changes();
  const bool was_crowded = crowded_ && crowded_->interface != 0;
  crowded_ = crowded_network_of(config_.address);
  crowded_->as_of = changes;
  if (!was_crowded && crowded_->interface == 0) return;
  for (udp::WriteSocket& socket : writers_) socket.forget_peer();
}

udp::WriteSocket& UdpTransport::write_socket(PeerIndex peer) {
  udp::WriteSocket& socket = writers_[peer % kWriteSockets];
  if (socket.is_open() || socket.open(config_.address, static_cast<int>(config_.send_buffer))) [[likely]]
    return socket;
  return writers_[0];  // out of descriptors: several peers share the first
}

udp::BatchLimits UdpTransport::batch_limits(const udp::WriteSocket& socket, bool connected) const {
  const std::uint32_t known = connected ? socket.path_mtu() : 0;
  const std::uint32_t mtu = known != 0 ? known : interface_mtu_;
  const std::uint32_t path = std::min(mtu - kIpAndUdpHeaders, udp::kLongestDatagram) & ~7U;
  const auto header = static_cast<std::uint32_t>(sizeof(udp::FrameHeader));
  // The user's packet size is the longest datagram that the user wants to see on the wire.
  const std::uint32_t datagram = config_.packet_size != 0 ? std::min(path, limits_.max_packet + header) : path;
  return {.datagram = datagram, .segment = segmentation_ ? path : 0};
}

void UdpTransport::segment_refused(udp::WriteSocket& socket, bool connected) {
  const std::uint32_t before = socket.path_mtu();
  if (connected) socket.refresh_path_mtu();
  if (!connected || socket.path_mtu() >= before || socket.path_mtu() == 0) segmentation_ = false;
}

std::size_t UdpTransport::receive_burst(std::span<IncomingPacket> packets) {
  if (asleep_ || (!looks_.is_due() && !arena_.has_unparsed())) return 0;
  unsigned reads = busy_polls_ < kBusyAfter ? 1 : kReadsPerBusyBurst;
  unsigned useless = 0;
  std::size_t count = 0;
  while (count < packets.size()) {
    if (!arena_.has_unparsed()) {
      if (reads == 0 || !read_datagram()) break;
      --reads;
    }
    const std::size_t taken = take_frames(packets.subspan(count));
    count += taken;
    if (taken == 0 && useless++ < kUselessReadsPerBurst) [[unlikely]]
      ++reads;
  }
  busy_polls_ = count == 0 ? 0 : busy_polls_ + 1;
  counters_.packets_received += count;
  return count;
}

// False: nothing waits, or there is no room for it. True also when it was of no use.
bool UdpTransport::read_datagram() {
  std::byte* room = arena_.room();
  if (room == nullptr) return false;
  sockaddr_in source;
  socklen_t source_length = sizeof(source);
  const CancellationOff off;
  const ssize_t length =
      recvfrom(receiver_, room, udp::ReceiveArena::kReadRoom, 0, reinterpret_cast<sockaddr*>(&source), &source_length);
  looks_.found(length >= 0);
  if (length < 0) return false;
  // Frames, all of them, or nobody of the job has sent it. What the kernel cut off at the end would be missing as well.
  if (length == 0 || !udp::are_frames({room, static_cast<std::size_t>(length)})) [[unlikely]] {
    ++counters_.receive_dropped;
    return true;
  }
  arena_.commit(static_cast<std::size_t>(length));
  origin_ = udp::origin_of(source);
  datagram_begun_ = false;
  return true;
}

std::size_t UdpTransport::take_frames(std::span<IncomingPacket> packets) {
  if (!arena_.has_unparsed()) return 0;
  std::size_t count = 0;
  std::span<std::byte>& rest = arena_.unparsed();
  while (count < packets.size() && !rest.empty()) {
    std::span<std::byte> packet;
    udp::next_frame(rest, packet);
    packets[count++] = {packet.data(), static_cast<std::uint32_t>(packet.size()), kUnknownPeer, datagram_begun_,
                        origin_};
    datagram_begun_ = true;
    arena_.hold();
  }
  if (rest.empty()) arena_.end_parsing();
  return count;
}

std::size_t UdpTransport::receive_rest(std::span<IncomingPacket> packets) {
  const std::size_t count = take_frames(packets);
  counters_.packets_received += count;
  return count;
}

void UdpTransport::skip_datagram() {
  if (!arena_.has_unparsed()) return;
  ++counters_.receive_dropped;
  arena_.end_parsing();
}

bool UdpTransport::arm() {
  if (link_ && link_->links().look()) return false;
  if (asleep_) return true;
  if (arena_.has_unparsed()) return false;
  looks_.look_soon();
  const CancellationOff off;
  std::byte first;
  if (recv(receiver_, &first, sizeof(first), MSG_PEEK) >= 0) return false;
  arrival_.switch_on();
  return true;
}

}  // namespace openlapi
