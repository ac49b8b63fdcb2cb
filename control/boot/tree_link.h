// The connection between a helper of the tree algorithm and whoever started it: messages of both, in order, sealed
// (control/sealing/sealed_frames.h). Blocking.
#pragma once

#include <optional>

#include "control/boot/startup_socket.h"

namespace openlapi::boot {

class TreeLink {
 public:
  explicit TreeLink(StartupConnection connection);

  // False: the connection is broken, or the other end takes nothing for a minute.
  bool send(const StartupBytes& message);
  // Waits as long as the other end's host is alive. Nothing: the connection has ended or is broken, or somebody has
  // changed what came, which is said.
  std::optional<StartupBytes> receive();
  int socket() const { return connection_.socket.get(); }

 private:
  StartupConnection connection_;
};

}  // namespace openlapi::boot
