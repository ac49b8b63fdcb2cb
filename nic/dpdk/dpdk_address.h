// A DPDK transport's address as the tasks of a job exchange it.
//
//   offset  bytes  (numbers are little-endian)
//   0       1      version: 1, or 2 where the hardware addresses of further ports follow
//   1       1      ports of the transport, 1 or more
//   2       2      UDP port
//   4       4      IPv4 address, as a number
//   8       4      token that frames to it carry, not 0
//   12      2      MTU: longest IP packet that it takes, bytes
//   14      6      hardware address of its first port
//   20      6 each of version 2: those of its further ports, of which there are 1 to kMostFurtherPorts
//
// A transport with one port, or with more than fit, has an address of version 1, which earlier builds know, too.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "dataplane/transport/transport.h"
#include "nic/dpdk/ethernet_frame.h"

namespace openlapi::dpdk {

struct Address {
  FrameEnd end;
  std::uint32_t mtu = 0;
  std::uint32_t ports = 1;
  std::vector<MacAddress> further{};  // hardware addresses of all ports but the first; empty: not told, or none
};

inline constexpr std::uint32_t kSmallestMtu = 640;   // bytes; the engine needs records of 512
inline constexpr std::uint32_t kLargestMtu = 9600;   // bytes
inline constexpr std::uint32_t kAddressLength = 20;  // of version 1
inline constexpr std::uint32_t kMostFurtherPorts =
    (PeerAddress::kCapacity - kAddressLength) / std::tuple_size_v<MacAddress>;
static_assert(kMostFurtherPorts == 7);

// The longest packet in frames of this MTU.
constexpr std::uint32_t packet_of(std::uint32_t mtu) { return (mtu - kHeaderInDatagram) & ~std::uint32_t{7}; }

// `further` is empty or has all further ports, kMostFurtherPorts at most.
PeerAddress encode(const Address& address);

// False and a reason when these bytes are no address of this version.
bool decode(const PeerAddress& bytes, Address& address, std::string& error);

}  // namespace openlapi::dpdk
