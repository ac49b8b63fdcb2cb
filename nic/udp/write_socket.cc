#include "nic/udp/write_socket.h"
#include "dataplane/base/cancellation.h"

#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace openlapi::udp {

WriteSocket::~WriteSocket() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool WriteSocket::open_anew(in_addr local, int send_buffer) {
  close(descriptor_);
  descriptor_ = -1;
  peer_ = candidate_ = kUnknownPeer;
  interface_ = 0;
  return open(local, send_buffer);
}

bool WriteSocket::open(in_addr local, int send_buffer) {
  const int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return false;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr = local;
  if (bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const int reason = errno;
    close(descriptor);
    errno = reason;
    return false;
  }
  setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof(send_buffer));
  const int smallest = 1;  // nobody reads what a stranger sends to this port
  setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &smallest, sizeof(smallest));
  descriptor_ = descriptor;
  return true;
}

bool WriteSocket::consider(PeerIndex peer, const sockaddr_in& destination) {
  if (peer_ != kUnknownPeer && candidate_ != peer) {
    candidate_ = peer;
    return false;
  }
  candidate_ = kUnknownPeer;
  const CancellationOff off;
  if (connect(descriptor_, reinterpret_cast<const sockaddr*>(&destination), sizeof(destination)) != 0) return false;
  peer_ = peer;
  refresh_path_mtu();
  return true;
}

void WriteSocket::forget(PeerIndex peer) {
  if (peer_ == peer) peer_ = kUnknownPeer;
}

// Not SO_BINDTODEVICE: an ordinary user may not change that again. Linux obeys this one for connected sockets from 5.18
// on.
void WriteSocket::leave_over(unsigned interface) {
  if (interface == interface_) return;
  const std::uint32_t number = htonl(interface);
  if (setsockopt(descriptor_, IPPROTO_IP, IP_UNICAST_IF, &number, sizeof(number)) == 0) interface_ = interface;
}

void WriteSocket::refresh_path_mtu() {
  int mtu = 0;
  socklen_t length = sizeof(mtu);
  const bool known = getsockopt(descriptor_, IPPROTO_IP, IP_MTU, &mtu, &length) == 0 && mtu > 0;
  path_mtu_ = known ? static_cast<std::uint32_t>(mtu) : 0;
}

long WriteSocket::send_once(std::span<const std::byte> bytes, std::uint32_t segment, const sockaddr_in* destination) {
  if (segment == 0) {
    if (destination == nullptr) return ::send(descriptor_, bytes.data(), bytes.size(), 0);
    return sendto(descriptor_, bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(destination),
                  sizeof(*destination));
  }
  iovec all{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &all;
  message.msg_iovlen = 1;
  if (destination != nullptr) {
    message.msg_name = const_cast<sockaddr_in*>(destination);
    message.msg_namelen = sizeof(*destination);
  }
  alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof(std::uint16_t))];
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = IPPROTO_UDP;
  header->cmsg_type = UDP_SEGMENT;
  header->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
  const auto size = static_cast<std::uint16_t>(segment);
  std::memcpy(CMSG_DATA(header), &size, sizeof(size));
  return sendmsg(descriptor_, &message, 0);
}

Sent WriteSocket::send(std::span<const std::byte> bytes, std::uint32_t segment, const sockaddr_in* destination) {
  const CancellationOff off;
  // An error may belong to an earlier datagram (ICMP brought it back) and is then reported only once: try again.
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (send_once(bytes, segment, destination) >= 0) return Sent::accepted;
    switch (errno) {
      case EAGAIN:
      case ENOBUFS:
      case ENOMEM:
        return Sent::full;
      case EIO:  // the device cannot do checksums, which segmentation needs
      case EINVAL:
      case EMSGSIZE:
        if (segment > 0) return Sent::segment_refused;
        break;
      default:
        break;
    }
  }
  return Sent::lost;
}

}  // namespace openlapi::udp
