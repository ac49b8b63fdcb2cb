// Which RDMA port and which of its GIDs a transport uses: pure rules on what was found on the machine.
//
// Port: the one that the user named; otherwise the first usable one in this order: InfiniBand before RoCE, then device
// names (mlx5_2 before mlx5_10), then port numbers. So identical machines choose identical ports.
// Partition: the one that the user named; otherwise, in the order of the port's table, the first of which it is a full
// member, or else the first of all. RoCE has one, whatever the user named.
// GID: the index that the user named; otherwise, of those in the network and the VLAN that the user named, the lowest
// index on InfiniBand, and on RoCE the lowest index of the best kind: RoCE v2 over IPv4, RoCE v2 over a global IPv6
// address, RoCE v2 over a link-local one, then RoCE v1 in the same order; of a kind those without a VLAN first. Indices
// above 255 cannot be used: routes to peers have 8 bits for them (ibv_global_route).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nic/modules/verbs_variables.h"
#include "nic/verbs/verbs_address.h"

namespace openlapi::verbs {

inline constexpr std::uint32_t kHighestGidIndex = 255;

struct GidFacts {
  std::uint32_t index = 0;
  Fabric fabric = Fabric::infiniband;
  Gid gid{};
  std::uint16_t vlan = 0;  // of its network interface; 0: none
};

struct PartitionFacts {
  std::uint16_t index = 0;
  std::uint16_t key = kDefaultPartition;
};

struct PortFacts {
  std::string device;
  std::uint32_t port = 1;
  std::string problem;     // why the device could not be queried (the other fields are then unset); empty: it could
  bool forbidden = false;  // because this user may not use the device
  bool ethernet = false;
  bool active = false;
  std::string state;      // as the driver calls it
  std::uint32_t mtu = 0;  // active one, bytes
  std::uint16_t lid = 0;
  bool route_header = false;               // of InfiniBand: every packet needs one
  std::vector<PartitionFacts> partitions;  // of InfiniBand: all that are set
  std::vector<GidFacts> gids;  // all that are set
};

struct PortPreference {
  std::string device;           // empty: any
  std::uint32_t port = 0;       // 0: any
  std::int32_t gid_index = -1;  // negative: by the rule
  std::uint16_t partition = 0;  // 15 bits; 0: by the rule
  GidPrefix gid_prefix{};
  std::optional<std::uint16_t> vlan{};  // none: by the rule
};

// By the rule for ports, whether they are usable or not.
bool comes_before(const PortFacts& left, const PortFacts& right);

// The GID that the rule gives, or the one at the wanted index. Nothing: `reason` says why.
std::optional<GidFacts> choose_gid(const PortFacts& port, const PortPreference& preference, std::string& reason);

// The same of the partition.
std::optional<PartitionFacts> choose_partition(const PortFacts& port, std::uint16_t wanted, std::string& reason);

struct PortChoice {
  std::size_t which = 0;  // index of the chosen port
  GidFacts gid;
  PartitionFacts partition;
};

// Nothing: `reason` names every candidate port and says why it cannot be used.
std::optional<PortChoice> choose_port(std::span<const PortFacts> ports, const PortPreference& preference,
                                      std::string& reason);

}  // namespace openlapi::verbs
