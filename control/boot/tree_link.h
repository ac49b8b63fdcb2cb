// The connection between a helper of the tree algorithm and whoever started it: messages of both, in order, that both
// ends prove to come from each other. Blocking.
//
//   length(4, little-endian)  message  proof(32)       HMAC-SHA256(session key, direction(1) number(8) message)
#pragma once

#include <chrono>
#include <optional>

#include "control/boot/startup_socket.h"

namespace openlapi::boot {

class TreeLink {
 public:
  // `below`: this is the helper's end.
  TreeLink(StartupConnection connection, bool below);

  // False: the connection is broken, or the other end takes nothing for a minute.
  bool send(const StartupBytes& message);
  // Waits as long as the other end's host is alive. Nothing: the connection has ended or is broken, or somebody has
  // changed the message.
  std::optional<StartupBytes> receive();
  int socket() const { return connection_.socket.get(); }

 private:
  bool read(std::span<std::uint8_t> bytes);
  StartupKey proof(bool from_below, std::uint64_t number, const StartupBytes& message) const;

  StartupConnection connection_;
  bool below_;
  std::uint64_t sent_ = 0, received_ = 0;
};

}  // namespace openlapi::boot
