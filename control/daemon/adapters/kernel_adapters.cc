// What the kernel says of interfaces and RDMA ports: read_interfaces(), read_ports().
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "control/daemon/adapters/own_adapters.h"
#include "dataplane/base/file_descriptor.h"

namespace openlapi::daemon {
namespace {

constexpr char kActive[] = "4:";  // a port's state in sysfs: "4: ACTIVE"
constexpr std::size_t kMostDevicePorts = 16;
constexpr int kMostGids = 16;
constexpr std::uint8_t kGidNetwork = 64;  // bits

bool is_link_local(const LinkAddress& address) {
  return address.family == AF_INET6 && address.bytes[0] == std::byte{0xfe} &&
         (address.bytes[1] & std::byte{0xc0}) == std::byte{0x80};
}

bool ask_driver(int socket, const std::string& name, void* question) {
  ifreq request{};
  name.copy(request.ifr_name, sizeof request.ifr_name - 1);
  request.ifr_data = static_cast<char*>(question);
  return ioctl(socket, SIOCETHTOOL, &request) == 0;
}

std::uint32_t speed_of(int socket, const std::string& name) {
  ethtool_cmd settings{};
  settings.cmd = ETHTOOL_GSET;
  if (!ask_driver(socket, name, &settings)) return 0;
  const std::uint32_t speed = ethtool_cmd_speed(&settings);
  return speed == static_cast<std::uint32_t>(SPEED_UNKNOWN) || speed == 0xffff ? 0 : speed;
}

bool is_bridge(int socket, const std::string& name) {
  ethtool_drvinfo driver{};
  driver.cmd = ETHTOOL_GDRVINFO;
  return ask_driver(socket, name, &driver) && std::strcmp(driver.driver, "bridge") == 0;
}

// By an administrator.
bool is_enabled(int socket, const std::string& name) {
  ifreq request{};
  name.copy(request.ifr_name, sizeof request.ifr_name - 1);
  return ioctl(socket, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP) != 0;
}

std::vector<AdapterAddress> addresses_of(unsigned link, const LinkTable& table) {
  std::vector<AdapterAddress> addresses;
  for (const LinkAddress& address : table.addresses()) {
    if (address.link != link || is_link_local(address) || addresses.size() == kMostAdapterAddresses) continue;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(address.bytes.data());
    addresses.push_back(
        {{bytes, bytes + (address.family == AF_INET ? 4 : 16)}, static_cast<std::uint8_t>(address.prefix_length)});
  }
  return addresses;
}

std::string line_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

// "fe80:0000:0000:0000:0077:00ff:fe00:0001"
MessageBytes gid_of(const std::string& text) {
  MessageBytes bytes;
  std::istringstream groups(text);
  std::string group;
  while (std::getline(groups, group, ':')) {
    unsigned value = 0;
    std::istringstream(group) >> std::hex >> value;
    bytes.push_back(static_cast<std::uint8_t>(value >> 8));
    bytes.push_back(static_cast<std::uint8_t>(value));
  }
  return bytes.size() == 16 ? bytes : MessageBytes{};
}

// The address of an interface that a GID stands for, with its network; else the GID, on that of its subnet prefix.
AdapterAddress address_of(const MessageBytes& gid, const std::vector<SeenAdapter>& interfaces) {
  const MessageBytes mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const bool is_ipv4 = std::equal(mapped.begin(), mapped.end(), gid.begin());
  const MessageBytes bytes = is_ipv4 ? MessageBytes(gid.begin() + 12, gid.end()) : gid;
  for (const SeenAdapter& adapter : interfaces) {
    const auto found = std::ranges::find(adapter.addresses, bytes, &AdapterAddress::bytes);
    if (found != adapter.addresses.end()) return *found;
  }
  return {bytes, is_ipv4 ? std::uint8_t{32} : kGidNetwork};
}

SeenAdapter read_port(const std::filesystem::path& port, const std::string& name,
                      const std::vector<SeenAdapter>& interfaces) {
  SeenAdapter adapter{name, AdapterKind::kPort, true, line_of(port / "state").starts_with(kActive)};
  double gigabits = 0;  // "100 Gb/sec (4X EDR)"
  std::istringstream(line_of(port / "rate")) >> gigabits;
  adapter.speed = static_cast<std::uint32_t>(gigabits * 1000);
  for (int n = 0; n < kMostGids && adapter.addresses.size() < kMostAdapterAddresses; ++n) {
    const MessageBytes gid = gid_of(line_of(port / "gids" / std::to_string(n)));
    if (std::ranges::all_of(gid, [](std::uint8_t byte) { return byte == 0; })) continue;
    const AdapterAddress address = address_of(gid, interfaces);
    if (std::ranges::find(adapter.addresses, address) == adapter.addresses.end()) adapter.addresses.push_back(address);
  }
  return adapter;
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::vector<SeenAdapter> read_interfaces(const LinkTable& table) {
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  std::vector<SeenAdapter> adapters;
  for (const auto& [number, link] : table.links()) {
    if (link.loopback) continue;
    SeenAdapter adapter{link.name, AdapterKind::kInterface, link.up || is_enabled(socket.get(), link.name), link.up};
    adapter.is_bridge = is_bridge(socket.get(), link.name);
    adapter.speed = speed_of(socket.get(), link.name);
    adapter.addresses = addresses_of(number, table);
    adapters.push_back(std::move(adapter));
  }
  return adapters;
}

std::vector<SeenAdapter> read_ports(const std::string& folder, const std::vector<SeenAdapter>& interfaces) {
  std::vector<SeenAdapter> adapters;
  for (const std::string& device : names_in(folder)) {
    const std::filesystem::path ports = std::filesystem::path(folder) / device / "ports";
    for (const std::string& port : names_in(ports)) {
      if (adapters.size() == kMostDevicePorts) return adapters;
      adapters.push_back(read_port(ports / port, device + ":" + port, interfaces));
    }
  }
  return adapters;
}

}  // namespace openlapi::daemon
