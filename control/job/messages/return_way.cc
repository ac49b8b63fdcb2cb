#include "control/job/messages/return_way.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "control/base/sockets.h"

namespace openlapi::jobs {

daemon::Connection return_way(FileDescriptor socket, const ReturnAddress& address, daemon::SealedStream::Role role) {
  daemon::BootKey key{};
  std::copy_n(address.key.begin(), std::min(address.key.size(), key.size()), key.begin());
  return {std::move(socket), std::make_unique<daemon::SealedStream>(key, role)};
}

void watch_return_way(int socket) {
  limit_silence(socket,
                {.seconds_before_asking = 5, .seconds_between = 2, .times = 3, .milliseconds_of_sending = 11'000});
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

FileDescriptor begin_to_return(const ReturnAddress& address) {
  FileDescriptor socket = make_tcp_socket();
  if (!socket.is_open()) return socket;
  watch_return_way(socket.get());
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_addr.s_addr = htonl(address.address);
  there.sin_port = htons(static_cast<std::uint16_t>(address.port));
  if (!begin_to_connect(socket.get(), there)) socket.reset();
  return socket;
}

}  // namespace openlapi::jobs
