#include "nic/dpdk/client_connection.h"

#include <dirent.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cstdlib>
#include <map>

namespace openlapi::dpdk {
namespace {

// 0: it is no socket.
ino_t socket_at(int descriptor) {
  struct stat about {};
  return fstat(descriptor, &about) == 0 && S_ISSOCK(about.st_mode) ? about.st_ino : 0;
}

// Of memif's kind, and connected to one that has a name, which the ends that a server accepts are not.
bool leads_to_server(int descriptor) {
  int type = 0;
  socklen_t length = sizeof type;
  if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_SEQPACKET) return false;
  sockaddr_un peer{};
  length = sizeof peer;
  return getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &length) == 0 && peer.sun_family == AF_UNIX &&
         length > sizeof peer.sun_family;
}

// Descriptors by socket.
std::map<ino_t, int> connections() {
  std::map<ino_t, int> found;
  DIR* const descriptors = opendir("/proc/self/fd");
  if (descriptors == nullptr) return found;
  while (const dirent* entry = readdir(descriptors)) {
    const int descriptor = std::atoi(entry->d_name);
    if (leads_to_server(descriptor)) found[socket_at(descriptor)] = descriptor;
  }
  closedir(descriptors);
  return found;
}

}  // namespace

void ClientConnection::watch(const std::function<void()>& start) {
  const std::map<ino_t, int> before = connections();
  start();
  const std::map<ino_t, int> after = connections();
  const auto made =
      std::find_if(after.begin(), after.end(), [&](const auto& one) { return before.count(one.first) == 0; });
  socket_ = made == after.end() ? 0 : made->first;
  descriptor_ = made == after.end() ? -1 : made->second;
}

bool ClientConnection::ended() const { return socket_ != 0 && socket_at(descriptor_) != socket_; }

}  // namespace openlapi::dpdk
