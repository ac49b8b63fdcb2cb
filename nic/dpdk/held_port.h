// Holds a UDP port so that nothing else on this machine uses it: a kernel socket is bound to it and carries nothing.
// Adapters that are shared with the kernel deliver to a task whatever comes for its port number. If another task or an
// unrelated program had the same port, one of them would get the other's frames, or both would get them.
#pragma once

#include <cstdint>

namespace openlapi::dpdk {

class HeldPort {
 public:
  HeldPort() = default;
  ~HeldPort();
  HeldPort(const HeldPort&) = delete;
  HeldPort& operator=(const HeldPort&) = delete;

  // Called once. Returns the port, which is held as long as this object lives; 0: the kernel has none.
  std::uint16_t take();

 private:
  int socket_ = -1;
};

}  // namespace openlapi::dpdk
