// What a port leaves to the kernel.
//
// Bifurcated drivers (such as mlx5's) share the adapter with the kernel. In isolated mode the adapter delivers to this
// process only what flow rules name, and everything else to the kernel. Without isolation the kernel would get nothing
// any more, and its interface may be the node's only one. So a shared port is used in isolated mode or not at all. A
// port of which nothing is known is treated as shared.
#pragma once

#include <cstdint>
#include <string>

#include "nic/dpdk/ethernet_frame.h"

namespace openlapi::dpdk {

// As DPDK and the kernel report them.
struct PortFacts {
  std::string device;            // the name it was created with, and its arguments
  std::string driver;            // DPDK's
  std::string kernel_interface;  // the kernel's on it; empty: none in this network namespace
  bool isolated = false;
  bool given = false;  // the kernel's driver only hands the adapter to programs (vfio-pci)
};

// Whether the kernel uses the adapter too, or may do so: it is not known to belong to this process alone.
bool is_shared(const PortFacts& facts);

// For people: "DPDK port 0000:3b:00.0 (driver mlx5_pci, the kernel's interface ens1)".
std::string described(const PortFacts& facts);

// The message for a shared port that cannot be used: what was refused (a clause), why, and what to do.
std::string refusal(const PortFacts& facts, const std::string& refused, const std::string& why);

// ---- flow_rules.cc: requests to DPDK; false: refused, and `why` has the reason ----

// The port must be stopped.
bool isolate(std::uint16_t port, bool on, std::string& why);

// Directs packets for the end's IPv4 address and UDP port to the first queue: those without a tag, those of its VLAN if
// it has one, and those of VLAN 0 unless the driver knows no such rule (mlx5, whose first one is for any tag).
bool add_flow_rules(std::uint16_t port, const FrameEnd& end, std::string& why);

// Removes all of the port's, if a reset has left any.
void drop_flow_rules(std::uint16_t port);

}  // namespace openlapi::dpdk
