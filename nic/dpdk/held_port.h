// A UDP port that nobody else on this machine has: a socket of the kernel's is bound to it, through which nothing
// goes.
// Adapters that the kernel uses as well bring a task what comes for its port; with that of another task, or of a
// program that knows nothing of us, the one would get what is the other's, or both would.
#pragma once

#include <cstdint>

namespace openlapi::dpdk {

class HeldPort {
 public:
  HeldPort() = default;
  ~HeldPort();
  HeldPort(const HeldPort&) = delete;
  HeldPort& operator=(const HeldPort&) = delete;

  // Called once. The port, until this ends; 0: the kernel gives none.
  std::uint16_t take();

 private:
  int socket_ = -1;
};

}  // namespace openlapi::dpdk
