// Whether a memif server has turned its client away. The driver tells only whether the link is up; but it closes the
// socket over which the two talk when the server ends the talk, as it does with a client whose interface it does not
// know (yet).
#pragma once

#include <sys/types.h>

#include <functional>

namespace openlapi::dpdk {

class ClientConnection {
 public:
  // Runs start(), and takes the connection that appears meanwhile for the client's. None: ended() stays false.
  void watch(const std::function<void()>& start);

  // The driver has closed it since.
  bool ended() const;

 private:
  int descriptor_ = -1;
  ino_t socket_ = 0;  // 0: there is none
};

}  // namespace openlapi::dpdk
