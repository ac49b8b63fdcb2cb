#include "nic/dpdk/packet_ring.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "nic/dpdk/network_interface.h"

namespace openlapi::dpdk {
namespace {

constexpr std::uint32_t kOverhead = 1024;  // bytes that the kernel counts for a frame beside its own, at most

}  // namespace

void PacketRing::find(const std::string& interface, std::uint32_t mtu) {
  socket_ = packet_socket_on(interface);
  socklen_t length = sizeof most_on_way_;
  if (socket_ < 0 || getsockopt(socket_, SOL_SOCKET, SO_SNDBUF, &most_on_way_, &length) != 0) return;
  look_after_ = std::max(static_cast<std::uint32_t>(most_on_way_) / 2 / (mtu + kOverhead), 1u);
}

bool PacketRing::is_half_empty() const {
  int on_way = most_on_way_;
  ioctl(socket_, SIOCOUTQ, &on_way);
  return on_way <= most_on_way_ / 2;
}

// A burst that was too long by itself may have met a full socket, which others have seen empty since.
void PacketRing::look() {
  if (since_look_ <= look_after_ && is_half_empty()) {
    since_look_ = 0;
  } else {
    may_hold_frames_ = true;
  }
}

// 0: there was nothing left. Other errors, as of an interface that is down, are the driver's to meet.
void PacketRing::push() {
  const ssize_t bytes = sendto(socket_, nullptr, 0, MSG_DONTWAIT, nullptr, 0);
  const bool full = bytes < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == EINTR);
  may_hold_frames_ = bytes > 0 || full;
  if (!may_hold_frames_) since_look_ = is_half_empty() ? 0 : look_after_ - 1;
}

}  // namespace openlapi::dpdk
