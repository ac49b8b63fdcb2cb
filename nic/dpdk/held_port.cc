#include "nic/dpdk/held_port.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace openlapi::dpdk {

HeldPort::~HeldPort() {
  if (socket_ >= 0) close(socket_);
}

std::uint16_t HeldPort::take() {
  socket_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const int least = 0;
  sockaddr_in any{};
  any.sin_family = AF_INET;
  socklen_t length = sizeof any;
  // What the kernel gets for it, as it may of a port that it shares, is not kept.
  const bool bound = setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &least, sizeof least) == 0 &&
                     bind(socket_, reinterpret_cast<const sockaddr*>(&any), length) == 0 &&
                     getsockname(socket_, reinterpret_cast<sockaddr*>(&any), &length) == 0;
  return bound ? ntohs(any.sin_port) : std::uint16_t{0};
}

}  // namespace openlapi::dpdk
