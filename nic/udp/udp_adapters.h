// The IPv4 addresses of this machine: for choosing adapters (MP_EUIDEVICE, MP_LAPI_INET_ADDR) and for lapi_info.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <string>
#include <vector>

namespace openlapi {

struct LocalAdapter {
  std::string name;    // the interface's name in the kernel, "eth0", with the label of a further address, "eth0:1"
  in_addr address;     // one of the interface's addresses; each address is an entry of its own
  std::uint32_t mtu;   // bytes of an IP packet
  bool up;             // administratively up and with a carrier
  in_addr mask{};      // of its network
  std::string card{};  // the device in the kernel that it is a port of; empty: it has none, or is the only port
};

// In the kernel's order. Empty: the machine has no IPv4 address, or the kernel refuses to list them.
std::vector<LocalAdapter> list_adapters();

// The MTU of the interface that has `address`, or whose network contains it (127.0.0.2 is local although no interface
// lists it). 0: there is no such interface.
std::uint32_t mtu_of_local_address(in_addr address);

// The interface that has `address`, where others of this machine are on the same network: which of them a packet leaves
// over is then not told by its source.
struct CrowdedNetwork {
  unsigned interface = 0;  // its number in the kernel; 0: there is no other one, or nobody has the address
  in_addr address{};
  in_addr mask{};
  std::uint32_t as_of = 0;  // the number of changes that the kernel had told of
  bool contains(in_addr other) const { return ((other.s_addr ^ address.s_addr) & mask.s_addr) == 0; }
};
CrowdedNetwork crowded_network_of(in_addr address);

// The interface's name without a label.
std::string interface_of(const std::string& name);

// The card of a device whose folder in sysfs is this one: without the number of the port (function) that a PCI address
// ends with.
std::string card_of(const std::string& device_folder);

// "10.0.0.1"
std::string to_text(in_addr address);

}  // namespace openlapi
