// What the kernel says of a network interface that a driver of DPDK works on (af_packet, af_xdp).
#pragma once

#include <cstdint>
#include <string>

namespace openlapi::dpdk {

// 0: there is no such interface in this network namespace.
std::uint32_t interface_mtu(const std::string& name);

}  // namespace openlapi::dpdk
