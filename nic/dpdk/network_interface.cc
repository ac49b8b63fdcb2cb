#include "nic/dpdk/network_interface.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace openlapi::dpdk {

std::uint32_t interface_mtu(const std::string& name) {
  ifreq request{};
  if (name.size() >= sizeof request.ifr_name) return 0;
  std::memcpy(request.ifr_name, name.data(), name.size());
  const int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return 0;
  const bool known = ioctl(descriptor, SIOCGIFMTU, &request) == 0;
  close(descriptor);
  return known ? static_cast<std::uint32_t>(request.ifr_mtu) : 0;
}

}  // namespace openlapi::dpdk
