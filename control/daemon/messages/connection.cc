#include "control/daemon/messages/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "control/base/sockets.h"

namespace openlapi::daemon {

short Connection::events() const { return static_cast<short>(has_outgoing() ? POLLIN | POLLOUT : POLLIN); }

bool Connection::flush() { return send_waiting(socket_.get(), stream_->outgoing()); }

bool Connection::fill() {
  std::uint8_t bytes[65536];
  const ssize_t count = recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  return count > 0 && stream_->take({bytes, static_cast<std::size_t>(count)});
}

// What came before the end is there to be taken, also when this is false.
bool Connection::serve() {
  const bool goes_on = fill();
  return flush() && goes_on;
}

}  // namespace openlapi::daemon
