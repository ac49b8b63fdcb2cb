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
