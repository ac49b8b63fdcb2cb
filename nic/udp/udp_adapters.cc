#include "nic/udp/udp_adapters.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

namespace openlapi {
namespace {

using InterfaceList = std::unique_ptr<ifaddrs, decltype(&freeifaddrs)>;

InterfaceList read_interfaces() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) first = nullptr;
  return {first, &freeifaddrs};
}

bool is_ipv4(const ifaddrs& entry) { return entry.ifa_addr != nullptr && entry.ifa_addr->sa_family == AF_INET; }

in_addr address_in(const sockaddr* socket_address) {
  sockaddr_in ipv4{};
  std::memcpy(&ipv4, socket_address, sizeof(ipv4));
  return ipv4.sin_addr;
}

std::uint32_t mtu_of_interface(int socket_descriptor, const char* name) {
  ifreq request{};
  std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  if (ioctl(socket_descriptor, SIOCGIFMTU, &request) != 0) return 0;
  return static_cast<std::uint32_t>(request.ifr_mtu);
}

std::uint32_t mtu_of_interface(const char* name) {
  const int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return 0;
  const std::uint32_t mtu = mtu_of_interface(descriptor, name);
  close(descriptor);
  return mtu;
}

bool same_network(in_addr left, in_addr right, in_addr mask) {
  return (left.s_addr & mask.s_addr) == (right.s_addr & mask.s_addr);
}

// Empty: none.
std::string device_folder(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::canonical("/sys/class/net/" + interface_of(name) + "/device", ignored);
}

}  // namespace

std::string interface_of(const std::string& name) { return name.substr(0, name.find(':')); }

std::string card_of(const std::string& device_folder) {
  const std::size_t name = device_folder.rfind('/') + 1;
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  char rest = 0;
  const int fields =
      std::sscanf(device_folder.c_str() + name, "%4x:%2x:%2x.%1x%c", &domain, &bus, &device, &function, &rest);
  return fields == 4 ? device_folder.substr(0, device_folder.rfind('.')) : device_folder;
}

std::vector<LocalAdapter> list_adapters() {
  std::vector<LocalAdapter> adapters;
  const InterfaceList interfaces = read_interfaces();
  const int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  for (const ifaddrs* entry = interfaces.get(); entry != nullptr; entry = entry->ifa_next) {
    if (!is_ipv4(*entry)) continue;
    const bool up = (entry->ifa_flags & IFF_UP) != 0 && (entry->ifa_flags & IFF_RUNNING) != 0;
    const std::uint32_t mtu = mtu_of_interface(descriptor, entry->ifa_name);
    const in_addr mask = entry->ifa_netmask != nullptr ? address_in(entry->ifa_netmask) : in_addr{INADDR_NONE};
    adapters.push_back(
        {entry->ifa_name, address_in(entry->ifa_addr), mtu, up, mask, card_of(device_folder(entry->ifa_name))});
  }
  if (descriptor >= 0) close(descriptor);
  return adapters;
}

std::uint32_t mtu_of_local_address(in_addr address) {
  const InterfaceList interfaces = read_interfaces();
  const char* containing = nullptr;
  for (const ifaddrs* entry = interfaces.get(); entry != nullptr; entry = entry->ifa_next) {
    if (!is_ipv4(*entry)) continue;
    const in_addr own = address_in(entry->ifa_addr);
    if (own.s_addr == address.s_addr) return mtu_of_interface(entry->ifa_name);
    if (entry->ifa_netmask == nullptr || containing != nullptr) continue;
    if (same_network(own, address, address_in(entry->ifa_netmask))) containing = entry->ifa_name;
  }
  return containing == nullptr ? 0 : mtu_of_interface(containing);
}

CrowdedNetwork crowded_network_of(in_addr address) {
  const std::vector<LocalAdapter> adapters = list_adapters();
  CrowdedNetwork network;
  for (const LocalAdapter& own : adapters) {
    if (own.address.s_addr != address.s_addr) continue;
    network.address = address;
    network.mask = own.mask;
    for (const LocalAdapter& other : adapters) {
      if (interface_of(other.name) == interface_of(own.name) || !network.contains(other.address)) continue;
      network.interface = if_nametoindex(interface_of(own.name).c_str());
    }
  }
  return network;
}

std::string to_text(in_addr address) {
  char text[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, &address, text, sizeof(text));
  return text;
}

}  // namespace openlapi
