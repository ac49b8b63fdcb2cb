// What the kernel says of a network interface that a driver of DPDK works on (af_packet, af_xdp) or beside (mlx5).
#pragma once

#include <cstdint>
#include <string>

namespace openlapi::dpdk {

// 0: there is no such interface in this network namespace.
std::uint32_t interface_mtu(const std::string& name);

// Empty: 0, or the interface is in another network namespace.
std::string interface_name(std::uint32_t index);

// The socket that af_packet has on it in this process, which stays the driver's; -1: there is none. It is readable
// while frames wait that the driver has not taken.
int packet_socket_on(const std::string& name);

// A socket whose interface went down has an error, and polls readable, until somebody asks what error it is.
void clear_error(int socket);

}  // namespace openlapi::dpdk
