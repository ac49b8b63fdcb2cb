#include "nic/dpdk/network_interface.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <net/route.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <fstream>

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

std::uint32_t ipv4_in(const sockaddr& address) {
  return ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr);
}

sockaddr_in internet_address(std::uint32_t address) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_addr.s_addr = htonl(address);
  return result;
}

// Lines of /proc/net/route: interface, destination, gateway, flags, ... with addresses as the kernel has them in
// memory.
std::uint32_t default_gateway(const std::string& name) {
  std::ifstream routes("/proc/net/route");
  for (std::string line; std::getline(routes, line);) {
    char interface[IF_NAMESIZE + 1] = "";
    std::uint32_t destination = 1, gateway = 0;
    unsigned flags = 0;
    if (std::sscanf(line.c_str(), "%16s %8x %8x %x", interface, &destination, &gateway, &flags) == 4 &&
        name == interface && destination == 0 && (flags & RTF_GATEWAY) != 0) {
      return ntohl(gateway);
    }
  }
  return 0;
}

}  // namespace

std::optional<InterfaceNetwork> interface_network(const std::string& name) {
  ifreq address{}, mask{};
  if (!ask(name, SIOCGIFADDR, address) || !ask(name, SIOCGIFNETMASK, mask)) return std::nullopt;
  return InterfaceNetwork{.address = ipv4_in(address.ifr_addr),
                          .bits = static_cast<unsigned>(std::popcount(ipv4_in(mask.ifr_netmask))),
                          .gateway = default_gateway(name)};
}

std::optional<MacAddress> neighbour_mac(const std::string& name, std::uint32_t address) {
  arpreq question{};
  if (name.size() >= sizeof question.arp_dev) return std::nullopt;
  std::memcpy(question.arp_dev, name.data(), name.size());
  const sockaddr_in neighbour = internet_address(address);
  std::memcpy(&question.arp_pa, &neighbour, sizeof neighbour);
  const FileDescriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!any.is_open() || ioctl(any.get(), SIOCGARP, &question) != 0) return std::nullopt;
  if ((question.arp_flags & ATF_COM) == 0 || question.arp_ha.sa_family != ARPHRD_ETHER) return std::nullopt;
  MacAddress mac;
  std::memcpy(mac.data(), question.arp_ha.sa_data, mac.size());
  return mac;
}

void look_for_neighbour(const std::string& name, std::uint32_t address) {
  constexpr std::uint16_t kDiscard = 9;
  const FileDescriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto length = static_cast<socklen_t>(name.size());
  if (!any.is_open() || setsockopt(any.get(), SOL_SOCKET, SO_BINDTODEVICE, name.data(), length) != 0) return;
  sockaddr_in neighbour = internet_address(address);
  neighbour.sin_port = htons(kDiscard);
  sendto(any.get(), nullptr, 0, MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&neighbour), sizeof neighbour);
}

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

bool packet_sockets_allowed() { return FileDescriptor(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)).is_open(); }

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
