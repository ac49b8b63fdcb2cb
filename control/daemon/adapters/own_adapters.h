// The adapters of this node, as far as the kernel tells.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "control/daemon/messages/adapter_message.h"
#include "nic/links/link_table.h"

namespace openlapi::daemon {

// An adapter whose device is gone is forgotten after this time.
inline constexpr std::chrono::hours kForgetTime{1};

// What the kernel says of an adapter.
struct SeenAdapter {
  std::string name{};
  std::uint8_t kind = AdapterKind::kInterface;
  bool enabled = false;  // by an administrator
  bool running = false;  // with a carrier; an RDMA port: active
  bool is_bridge = false;
  std::uint32_t speed = 0;  // Mbit/s; 0: unknown
  std::vector<AdapterAddress> addresses{};
};

// The interfaces in the table, without loopback; link-local addresses count as none.
std::vector<SeenAdapter> read_interfaces(const LinkTable& table);

// The ports of RDMA devices, below /sys/class/infiniband. GIDs that are addresses of `interfaces` are on their
// networks.
std::vector<SeenAdapter> read_ports(const std::string& folder, const std::vector<SeenAdapter>& interfaces);

// The same adapters, with the one of this name marked by whether anybody answers over it.
std::vector<AdapterStatus> marked(std::vector<AdapterStatus> adapters, const std::string& name, bool is_reachable,
                                  std::uint64_t now);

// The adapters after a look at time `now` (milliseconds since 1970) that has `seen` these; `before`: those of the last
// look. Each RDMA port counts as an adapter, and an interface when it has, or had, an address; a bridge only once it
// has been up, because programs create bridges in advance. One whose address has moved to another no longer counts.
std::vector<AdapterStatus> updated(const std::vector<AdapterStatus>& before, const std::vector<SeenAdapter>& seen,
                                   std::uint64_t now);

}  // namespace openlapi::daemon
