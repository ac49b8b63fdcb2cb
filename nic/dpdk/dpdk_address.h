// A DPDK transport's address as the tasks of a job exchange it.
//
//   offset  bytes  (numbers are little-endian)
//   0       1      version, 1
//   1       1      ports of the transport, 1 or more
//   2       2      UDP port
//   4       4      IPv4 address, as a number
//   8       4      token that frames to it carry, not 0
//   12      2      MTU: longest IP packet that it takes, bytes
//   14      6      hardware address of its first port
#pragma once

#include <cstdint>
#include <string>

#include "dataplane/transport/transport.h"
#include "nic/dpdk/ethernet_frame.h"

namespace openlapi::dpdk {

struct Address {
  FrameEnd end;
  std::uint32_t mtu = 0;
  std::uint32_t ports = 1;
};

inline constexpr std::uint32_t kSmallestMtu = 640;  // bytes; the engine needs records of 512
inline constexpr std::uint32_t kLargestMtu = 9600;  // bytes
inline constexpr std::uint32_t kAddressLength = 20;
static_assert(kAddressLength <= PeerAddress::kCapacity);

// The longest packet in frames of this MTU.
constexpr std::uint32_t packet_of(std::uint32_t mtu) { return (mtu - kHeaderInDatagram) & ~std::uint32_t{7}; }

PeerAddress encode(const Address& address);

// False and a reason when these bytes are no address of this version.
bool decode(const PeerAddress& bytes, Address& address, std::string& error);

}  // namespace openlapi::dpdk
