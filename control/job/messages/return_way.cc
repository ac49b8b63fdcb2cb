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

FileDescriptor begin_to_return(const ReturnAddress& address) {
  FileDescriptor socket = make_tcp_socket();
  if (!socket.is_open()) return socket;
  watch_silence(socket.get());
  if (!begin_to_connect(socket.get(), ipv4_address(address.address, address.port))) socket.reset();
  return socket;
}

}  // namespace openlapi::jobs
