// Whether a memif server has turned its client away. The driver only says whether the link is up. But it closes the
// socket between client and server when the server ends the conversation, which is what a server does with a client
// whose interface it does not know (yet).
#pragma once

#include <sys/types.h>

#include <functional>

namespace openlapi::dpdk {

class ClientConnection {
 public:
  // Runs start() and takes the connection that appears meanwhile to be the client's. If none appears, ended() stays
  // false.
  void watch(const std::function<void()>& start);

  // Whether the driver has closed the connection since.
  bool ended() const;

 private:
  int descriptor_ = -1;
  ino_t socket_ = 0;  // inode of the connection; 0: there is none
};

}  // namespace openlapi::dpdk
