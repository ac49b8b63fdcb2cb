// The network that a transport's address is in, and the way to peers in others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nic/dpdk/dpdk_address.h"

namespace openlapi::dpdk {

struct OwnNetwork {
  bool of_interface = false;  // what the kernel's interface on the first device has, and its router if none is given
  unsigned bits = 0;          // of the address, that all in the network have in common; 0: all peers are in it
  std::uint32_t gateway = 0;  // the router to others, IPv4; 0: none
  std::string said{};         // what OPENLAPI_DPDK_ADDRESS says, for messages
};

// Replaces `address` and `network` by those of an interface (empty: the port `port` has none). False: `reason` says why
// not.
bool take_from_interface(const std::string& interface, const std::string& port, std::uint32_t& address,
                         OwnNetwork& network, std::string& reason);

// Of a router that the user names for the device `device`: what is wrong with it; empty: nothing. A machine that is
// alone in its network (31 or 32 bits) may have one anywhere, as clouds have it.
std::string fault_of_router(const OwnNetwork& network, std::uint32_t own_address, const std::string& device);

// Where frames to a peer go first, by its IPv4 address: itself, or the router. Nothing: there is no way, and `reason`
// says why.
std::optional<std::uint32_t> next_hop_to(const FrameEnd& peer, const FrameEnd& own, const OwnNetwork& network,
                                         std::string& reason);

}  // namespace openlapi::dpdk
