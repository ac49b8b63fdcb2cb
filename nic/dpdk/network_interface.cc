#include "nic/dpdk/network_interface.h"

#include <dirent.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "dataplane/base/file_descriptor.h"

namespace openlapi::dpdk {
namespace {

// The program may have packet sockets on the interface, too: only the driver's has a ring of this layout.
bool has_drivers_ring(int socket) {
  int version = 0;
  socklen_t length = sizeof version;
  return getsockopt(socket, SOL_PACKET, PACKET_VERSION, &version, &length) == 0 && version == TPACKET_V2;
}

// False: there is no such interface.
bool ask(const std::string& name, unsigned long question, ifreq& answer) {
  if (name.size() >= sizeof answer.ifr_name) return false;
  std::memcpy(answer.ifr_name, name.data(), name.size());
  const FileDescriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return any.is_open() && ioctl(any.get(), question, &answer) == 0;
}

}  // namespace

std::uint32_t interface_mtu(const std::string& name) {
  ifreq answer{};
  return ask(name, SIOCGIFMTU, answer) ? static_cast<std::uint32_t>(answer.ifr_mtu) : 0;
}

unsigned interface_number(const std::string& name) { return if_nametoindex(name.c_str()); }

std::optional<MacAddress> interface_mac(const std::string& name) {
  ifreq answer{};
  if (!ask(name, SIOCGIFHWADDR, answer) || answer.ifr_hwaddr.sa_family != ARPHRD_ETHER) return std::nullopt;
  MacAddress mac;
  std::memcpy(mac.data(), answer.ifr_hwaddr.sa_data, mac.size());
  return mac;
}

bool interface_runs(const std::string& name) {
  ifreq answer{};
  if (!ask(name, SIOCGIFFLAGS, answer)) return false;
  const auto flags = static_cast<unsigned>(answer.ifr_flags);
  return (flags & IFF_UP) != 0 && (flags & IFF_RUNNING) != 0;
}

std::string interface_name(std::uint32_t index) {
  char name[IF_NAMESIZE] = "";
  return index != 0 && if_indextoname(index, name) != nullptr ? name : "";
}

int packet_socket_on(const std::string& name) {
  const unsigned index = name.empty() ? 0 : if_nametoindex(name.c_str());
  if (index == 0) return -1;
  DIR* const descriptors = opendir("/proc/self/fd");
  if (descriptors == nullptr) return -1;
  int found = -1;
  while (const dirent* entry = readdir(descriptors)) {
    const int descriptor = std::atoi(entry->d_name);
    sockaddr_ll address{};
    socklen_t length = sizeof address;
    if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) == 0 &&
        address.sll_family == AF_PACKET && address.sll_ifindex == static_cast<int>(index) &&
        has_drivers_ring(descriptor)) {
      found = descriptor;
    }
  }
  closedir(descriptors);
  return found;
}

void clear_error(int socket) {
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length);
}

}  // namespace openlapi::dpdk
