// What the kernel says about a network interface that a DPDK driver works on (af_packet, af_xdp) or beside (mlx5).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nic/dpdk/ethernet_frame.h"

namespace openlapi::dpdk {

// 0: this network namespace has no such interface.
std::uint32_t interface_mtu(const std::string& name);

// That the kernel gives it, whatever it is called later; 0: as above.
unsigned interface_number(const std::string& name);

// Its hardware address; none: this network namespace has no such interface, or it is no Ethernet.
std::optional<MacAddress> interface_mac(const std::string& name);

// Its IPv4 address, the size of its network and the router that the default route leads to (0: none), as numbers. None:
// this network namespace has no such interface, or it has no address.
struct InterfaceNetwork {
  std::uint32_t address = 0;
  unsigned bits = 0;
  std::uint32_t gateway = 0;
};
std::optional<InterfaceNetwork> interface_network(const std::string& name);

// The hardware address that the kernel knows of a neighbour on this interface; none: it knows none yet, and
// look_for_neighbour() has it ask, by a datagram that nobody takes.
std::optional<MacAddress> neighbour_mac(const std::string& name, std::uint32_t address);
void look_for_neighbour(const std::string& name, std::uint32_t address);

// Whether this thread has the right for packet sockets in its network namespace (CAP_NET_RAW).
bool packet_sockets_allowed();
inline constexpr const char* kNoPacketSockets =
    "this task lacks the right CAP_NET_RAW (of root, or by setcap cap_net_raw+ep for the program)";

// Whether it is up and has a carrier.
bool interface_runs(const std::string& name);

// Empty: `index` is 0, or the interface is in another network namespace.
std::string interface_name(std::uint32_t index);

// The packet socket that the af_packet driver has on the interface in this process; it remains the driver's. Readable
// while there are frames that the driver has not taken. -1: there is none.
int packet_socket_on(const std::string& name);

// After its interface has gone down a packet socket stays readable until its error is fetched; this fetches it.
void clear_error(int socket);

}  // namespace openlapi::dpdk
