// The adapters of this node, as far as the kernel tells.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "control/daemon/messages/adapter_message.h"
#include "nic/links/link_table.h"

namespace openlapi::daemon {

// An adapter whose device is gone, is forgotten after this time.
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

// Whether anybody answers over one that the kernel takes for good.
std::vector<AdapterStatus> marked(std::vector<AdapterStatus> adapters, const std::string& name, bool is_reachable,
                                  std::uint64_t now);

// What becomes of the adapters `before` by what is seen `now` (milliseconds since 1970). Only what has, or had, an
// address or is an RDMA port counts as an adapter, of bridges only what was up once: programs make them in advance. One
// whose address another has now is none any more.
std::vector<AdapterStatus> updated(const std::vector<AdapterStatus>& before, const std::vector<SeenAdapter>& seen,
                                   std::uint64_t now);

}  // namespace openlapi::daemon
