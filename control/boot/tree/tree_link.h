// The connection between a helper of the tree algorithm and whoever started it: messages of both, in order, sealed
// (control/sealing/sealed_messages.h). Empty ones only say that the sender is alive. Blocking.
#pragma once

#include <chrono>
#include <optional>

#include "control/boot/startup/startup_socket.h"

namespace openlapi::boot {

class TreeLink {
 public:
  static constexpr std::chrono::milliseconds kNoLimit{-1};

  explicit TreeLink(StartupConnection connection);

  // False: the connection is broken, or the other end takes nothing for a minute.
  bool send(const StartupBytes& message);
  bool send_sign_of_life() { return send({}); }
  // Waits as long as the other end's host is alive. Nothing: the connection has ended or is broken; or, and the user is
  // told so, somebody has changed what came, or nothing at all has come for as long as `silence`.
  std::optional<StartupBytes> receive(std::chrono::milliseconds silence = kNoLimit);
  int socket() const { return connection_.socket.get(); }

 private:
  StartupConnection connection_;
};

}  // namespace openlapi::boot
