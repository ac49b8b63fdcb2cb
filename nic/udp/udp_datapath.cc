#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "dataplane/base/check.h"
#include "nic/udp/udp_transport.h"

namespace openlapi {
namespace {

// An empty read costs 0.16 us, so a quiet transport stops after the first datagram of a burst. After that many bursts
// in a row that found something it is worth looking for more.
constexpr unsigned kBusyAfter = 4;
constexpr unsigned kReadsPerBusyBurst = 32;

}  // namespace

std::size_t UdpTransport::send_burst(PeerIndex peer, std::span<const OutgoingPacket> packets) {
  udp::WriteSocket& socket = write_socket(peer);
  bool connected = socket.connected_to(peer);
  const sockaddr_in* destination = nullptr;
  if (connected) {
    socket.used_by_connected_peer();
  } else {
    const auto found = peers_.find(peer);
    OPENLAPI_CHECK(found != peers_.end());
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

udp::WriteSocket& UdpTransport::write_socket(PeerIndex peer) {
  udp::WriteSocket& socket = writers_[peer % kWriteSockets];
  if (socket.is_open() || socket.open(config_.address, static_cast<int>(config_.send_buffer))) [[likely]] return socket;
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
  unsigned reads = busy_polls_ < kBusyAfter ? 1 : kReadsPerBusyBurst;
  std::size_t count = 0;
  while (count < packets.size()) {
    if (arena_.has_unparsed()) {
      count += take_frames(packets.subspan(count));
    } else {
      if (reads == 0 || !read_datagram()) break;
      --reads;
    }
  }
  busy_polls_ = count == 0 ? 0 : busy_polls_ + 1;
  counters_.packets_received += count;
  return count;
}

// False: nothing waits, or there is no room for it. True also when it was of no use.
bool UdpTransport::read_datagram() {
  std::byte* room = arena_.room();
  if (room == nullptr) return false;
  const ssize_t length = recv(receiver_, room, udp::ReceiveArena::kReadRoom, 0);
  if (length < 0) return false;
  if (length == 0) {
    ++counters_.receive_dropped;
    return true;
  }
  // What the kernel cut off at the end makes the last frame incomplete: it is dropped and counted there.
  arena_.commit(static_cast<std::size_t>(length));
  return true;
}

std::size_t UdpTransport::take_frames(std::span<IncomingPacket> packets) {
  std::size_t count = 0;
  std::span<std::byte>& rest = arena_.unparsed();
  while (count < packets.size() && !rest.empty()) {
    std::span<std::byte> packet;
    if (!udp::next_frame(rest, packet)) [[unlikely]] {
      ++counters_.receive_dropped;
      rest = {};
      break;
    }
    packets[count++] = {packet.data(), static_cast<std::uint32_t>(packet.size()), kUnknownPeer};
    arena_.hold();
  }
  if (rest.empty()) arena_.end_parsing();
  return count;
}

bool UdpTransport::arm() {
  if (arena_.has_unparsed()) return false;
  std::byte first;
  if (recv(receiver_, &first, sizeof(first), MSG_PEEK) >= 0) return false;
  arrival_.switch_on();
  return true;
}

}  // namespace openlapi
