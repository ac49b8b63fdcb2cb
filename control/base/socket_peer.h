// Which process, of which user, has the other end of a Unix socket, as the kernel says.
#pragma once

#include <sys/socket.h>

#include <optional>

namespace openlapi {

// As it was when it connected. Nothing if the kernel does not say it.
inline std::optional<ucred> socket_peer(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer;
}

}  // namespace openlapi
