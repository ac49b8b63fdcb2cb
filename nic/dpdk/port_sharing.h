// What a port leaves to the kernel.
//
// Some drivers work beside the kernel's own on the same adapter (bifurcated ones, as mlx5's): isolated, the adapter
// brings this process only what flow rules name, and the kernel all the rest. Without isolation it brings the kernel
// nothing any more, whose interface may be the node's only one: so such a port is used isolated or not at all. One of
// which nothing is known may be such a port.
#pragma once

#include <cstdint>
#include <string>

namespace openlapi::dpdk {

// As DPDK and the kernel tell.
struct PortFacts {
  std::string device;            // as it was made, with its arguments
  std::string driver;            // DPDK's
  std::string kernel_interface;  // the kernel's on it; empty: none in this network namespace
  bool isolated = false;
  bool given = false;  // the kernel's driver on the adapter only passes it on to programs
};

// The kernel uses the adapter as well, or may do so: it is not known to be this process's alone.
bool is_shared(const PortFacts& facts);

// For people: "DPDK port 0000:3b:00.0 (driver mlx5_pci, the kernel's interface ens1)".
std::string described(const PortFacts& facts);

// The same for a shared one that cannot be used: what was refused (a clause), why, and what to do.
std::string refusal(const PortFacts& facts, const std::string& refused, const std::string& why);

// ---- flow_rules.cc: asked of DPDK; false: it refuses, `why` says for what reason ----

// Of a port that is stopped.
bool isolate(std::uint16_t port, bool on, std::string& why);

// What is for this IPv4 address and UDP port comes to the first queue.
bool add_flow_rule(std::uint16_t port, std::uint32_t address, std::uint16_t udp_port, std::string& why);

}  // namespace openlapi::dpdk
