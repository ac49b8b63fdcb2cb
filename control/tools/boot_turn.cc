// A socket in the abstract name space, which leaves no file behind. Its name is the session folder's, which has the
// user's and the host's name in it.
#include "control/tools/boot_turn.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "control/base/socket_peer.h"
#include "control/daemon/session/system_failure.h"

namespace openlapi::daemon {
namespace {

constexpr char kPrefix[] = "openlapi-boot:";  // shorter than what tool_socket() adds to a folder's name, so it has room
constexpr int kMostTries = 200;               // between taking the name and listening are microseconds
constexpr std::chrono::milliseconds kPause{5};

struct Name {
  sockaddr_un address{};
  socklen_t length = 0;
};

Name name_of(const std::string& session_folder) {
  Name name;
  name.address.sun_family = AF_UNIX;
  const std::string text = kPrefix + session_folder;
  if (text.size() >= sizeof name.address.sun_path) throw std::runtime_error("too long a name: " + session_folder);
  std::memcpy(name.address.sun_path + 1, text.data(), text.size());
  name.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return name;
}

// Who has the name. 0: nobody any more, or somebody who does not listen yet; -1: another user, who has no right to it.
pid_t holder(const Name& name) {
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&name.address), name.length) != 0) return 0;
  const auto peer = socket_peer(socket.get());
  if (!peer) return 0;
  return peer->uid == geteuid() ? peer->pid : -1;
}

bool bind_to(const FileDescriptor& socket, const Name& name) {
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&name.address), name.length) == 0) return true;
  if (errno != EADDRINUSE) fail("bind");
  return false;
}

}  // namespace

FileDescriptor take_turn_to_boot(const std::string& session_folder) {
  const Name name = name_of(session_folder);
  FileDescriptor turn(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!turn.is_open()) fail("socket");
  for (int tries = 0; tries < kMostTries; ++tries) {
    if (bind_to(turn, name)) {
      if (listen(turn.get(), SOMAXCONN) != 0) fail("listen");
      break;
    }
    const pid_t process = holder(name);
    if (process > 0) {
      throw std::runtime_error("another lamboot (process " + std::to_string(process) + ") is booting this session, " +
                               session_folder + "; wait until it has ended, or choose another with -sessionsuffix");
    }
    if (process < 0) break;
    std::this_thread::sleep_for(kPause);
  }
  return turn;
}

}  // namespace openlapi::daemon
