// What daemon and booting agent tell each other (specification, section 2.5.12). Little-endian, 4 bytes a number.
//
//   daemon to agent   node id, TCP port for the universe, UDP port, processors (-1: as the boot schema says)
//   agent to daemon   number of nodes; for each: node id (-1: invalid, nothing follows), IPv4 address in network order,
//                     UDP port, type, processors, length of the name, the name
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "control/boot/nodes/node_array.h"
#include "control/boot/startup/startup_exchange.h"

namespace openlapi::boot {

struct DaemonInfo {
  int node_id = 0;
  int tcp_port = 0;
  int udp_port = 0;
  int cpus = -1;
};
constexpr std::size_t kDaemonInfoBytes = 16;
constexpr std::size_t kLongestUniverse = 64 << 20;

StartupBytes encode(const DaemonInfo& info);
// Nothing: they are no such message, or a value is impossible.
std::optional<DaemonInfo> decode_daemon_info(std::span<const std::uint8_t> bytes);

// NT_BOOT is cleared in what is sent.
StartupBytes encode_universe(const lamnode* nodes, int count);
std::optional<NodeArray> decode_universe(std::span<const std::uint8_t> bytes);

}  // namespace openlapi::boot
