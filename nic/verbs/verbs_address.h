// A verbs transport's address as the tasks of a job exchange it, and what two addresses say about the path between
// them.
//
//   offset  bytes  (numbers are little-endian)
//   0       1      version, 3
//   1       1      fabric: 1 InfiniBand, 2 RoCE v1, 3 RoCE v2
//   2       2      MTU: longest packet of the port, bytes: 1024, 2048 or 4096
//   4       3      number of the queue pair
//   7       1      flags: 1 packets from and to this port need a route header, whatever their way; others are zero
//   8       4      Q_Key that packets to it carry; its highest bit is clear (that bit means "the sender's own")
//   12      2      LID, 0: none (always with RoCE)
//   14      2      P_Key of the port: 15 bits of the partition, the highest bit: a full member of it
//   16      16     GID
//   32      2      packets that each sender may have on its way here, unacknowledged; at least 1
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "dataplane/transport/transport.h"

namespace openlapi::verbs {

enum class Fabric : std::uint8_t { infiniband = 1, roce_v1 = 2, roce_v2 = 3 };
std::string_view to_text(Fabric fabric);

using Gid = std::array<std::uint8_t, 16>;
bool is_zero(const Gid& gid);
bool is_ipv4(const Gid& gid);        // ::ffff:a.b.c.d
bool is_link_local(const Gid& gid);  // fe80::/64
// Whether ports of this fabric with these GIDs reach each other: RoCE has IPv4 and IPv6, InfiniBand knows no kinds.
bool same_kind(Fabric fabric, const Gid& left, const Gid& right);
std::string to_text(const Gid& gid);

// P_Keys. Two members of a partition of which neither is a full one do not reach each other.
inline constexpr std::uint16_t kFullMember = 0x8000;
inline constexpr std::uint16_t kDefaultPartition = 0xffff;  // RoCE's only one
constexpr std::uint16_t partition_of(std::uint16_t key) { return static_cast<std::uint16_t>(key & 0x7fff); }
std::string key_text(std::uint16_t key);  // 0x8001

struct Address {
  Fabric fabric = Fabric::infiniband;
  std::uint32_t mtu = 0;
  std::uint32_t queue_pair = 0;
  std::uint32_t qkey = 0;
  std::uint16_t lid = 0;
  Gid gid{};
  bool route_header = false;  // of InfiniBand: the port takes no packets without one
  std::uint16_t partition_key = kDefaultPartition;
  std::uint16_t packets_of_sender = UINT16_MAX;
};

inline constexpr std::uint32_t kSmallestMtu = 1024;  // bytes; the engine needs packets of so much
inline constexpr std::uint32_t kLargestMtu = 4096;   // bytes
inline constexpr std::uint32_t kAddressLength = 34;
static_assert(kAddressLength <= PeerAddress::kCapacity);

PeerAddress encode(const Address& address);

// False and a reason when these bytes are no address of this version.
bool decode(const PeerAddress& bytes, Address& address, std::string& error);

// Of InfiniBand: whether both ports are in one subnet, by the prefixes of their GIDs; true where one of them has none.
bool in_one_subnet(const Address& from, const Address& to);

// The LID of a router that leads to this GID's subnet, which the GID has in it where the subnet manager gave it so
// (a FLID, in fec0::/32). 0: it has none.
std::uint16_t router_of(const Gid& gid);

// Where packets to `to` go within the subnet of `from`: to its own LID, or to that of a router.
std::uint16_t next_lid(const Address& from, const Address& to);

// Whether packets from `from` can reach `to` at all: the same fabric, the same kind of GID, one partition, and on
// InfiniBand one subnet or a router that is known. False: a reason.
bool compatible(const Address& from, const Address& to, std::string& error);

// Whether packets need a global route header: always with RoCE; on InfiniBand when one of the ports demands it, or `to`
// is in another subnet or has no LID. The same in both directions.
bool needs_global_route(const Address& from, const Address& to);

}  // namespace openlapi::verbs
