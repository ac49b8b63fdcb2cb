#include "nic/verbs/verbs_address.h"

#include <algorithm>
#include <cstdio>

#include "dataplane/base/little_endian.h"

namespace openlapi::verbs {
namespace {

constexpr std::uint8_t kAddressVersion = 3;
constexpr std::uint32_t kQueuePairBits = 0xffffff;
constexpr std::uint32_t kRouteHeaderFlag = 1;  // of the highest byte of the queue pair's word
constexpr std::size_t kSubnetPrefix = 8;  // bytes of a GID
constexpr std::uint16_t kHighestUnicastLid = 0xbfff;

bool is_mtu(std::uint32_t bytes) { return bytes == kSmallestMtu || bytes == 2048 || bytes == kLargestMtu; }

// What is wrong with the numbers of an address; null: nothing.
const char* fault_of(const Address& address) {
  if (!is_mtu(address.mtu)) return "an MTU that is none of 1024, 2048 and 4096";
  if (address.queue_pair < 2 || address.queue_pair >= 0xffffff) return "no queue pair of a task";
  if ((address.qkey & 0x80000000) != 0) return "a Q_Key that is reserved";
  if (address.lid > kHighestUnicastLid) return "a LID that is no port's";
  const bool has_gid = !is_zero(address.gid) && address.gid[0] != 0xff;
  if (address.fabric != Fabric::infiniband && (address.lid != 0 || !has_gid)) return "no GID of a port";
  if (address.lid == 0 && !has_gid) return "neither a LID nor a GID";
  if (partition_of(address.partition_key) == 0) return "a P_Key of no partition";
  if (address.packets_of_sender == 0) return "no room for packets";
  if (address.route_header && (!has_gid || address.fabric != Fabric::infiniband)) return "a flag that it cannot have";
  return nullptr;
}

}  // namespace

std::string_view to_text(Fabric fabric) {
  switch (fabric) {
    case Fabric::infiniband:
      return "InfiniBand";
    case Fabric::roce_v1:
      return "RoCE v1";
    case Fabric::roce_v2:
      return "RoCE v2";
  }
  return "no fabric";
}

bool is_zero(const Gid& gid) {
  return std::all_of(gid.begin(), gid.end(), [](std::uint8_t byte) { return byte == 0; });
}

bool is_ipv4(const Gid& gid) {
  return std::all_of(gid.begin(), gid.begin() + 10, [](std::uint8_t byte) { return byte == 0; }) && gid[10] == 0xff &&
         gid[11] == 0xff;
}

bool is_link_local(const Gid& gid) { return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80; }

bool same_kind(Fabric fabric, const Gid& left, const Gid& right) {
  return fabric == Fabric::infiniband || is_ipv4(left) == is_ipv4(right);
}

std::string to_text(const Gid& gid) {
  char text[48];
  if (is_ipv4(gid)) {
    std::snprintf(text, sizeof text, "::ffff:%u.%u.%u.%u", gid[12], gid[13], gid[14], gid[15]);
    return text;
  }
  char* end = text;
  for (std::size_t i = 0; i < gid.size(); i += 2) {
    end += std::snprintf(end, 6, i == 0 ? "%x" : ":%x", gid[i] << 8 | gid[i + 1]);
  }
  return text;
}

std::string key_text(std::uint16_t key) {
  char text[8];
  std::snprintf(text, sizeof text, "0x%04x", static_cast<unsigned>(key));
  return text;
}

PeerAddress encode(const Address& address) {
  PeerAddress bytes;
  store_little(&bytes.bytes[0], kAddressVersion);
  store_little(&bytes.bytes[1], static_cast<std::uint8_t>(address.fabric));
  store_little(&bytes.bytes[2], static_cast<std::uint16_t>(address.mtu));
  store_little(&bytes.bytes[4], address.queue_pair | (address.route_header ? kRouteHeaderFlag : 0) << 24);
  store_little(&bytes.bytes[8], address.qkey);
  store_little(&bytes.bytes[12], address.lid);
  store_little(&bytes.bytes[14], address.partition_key);
  for (std::size_t i = 0; i < address.gid.size(); ++i) bytes.bytes[16 + i] = static_cast<std::byte>(address.gid[i]);
  store_little(&bytes.bytes[32], address.packets_of_sender);
  bytes.length = kAddressLength;
  return bytes;
}

bool decode(const PeerAddress& bytes, Address& address, std::string& error) {
  if (bytes.length != kAddressLength) {
    error = "a verbs address has " + std::to_string(kAddressLength) + " bytes, this one has " +
            std::to_string(bytes.length);
    return false;
  }
  const auto version = load_little<std::uint8_t>(&bytes.bytes[0]);
  const auto fabric = load_little<std::uint8_t>(&bytes.bytes[1]);
  const auto flags = load_little<std::uint8_t>(&bytes.bytes[7]);
  if (version != kAddressVersion || fabric < 1 || fabric > 3) {
    error = "a verbs address of version " + std::to_string(version) + " and fabric " + std::to_string(fabric) +
            ": this openlapi knows version " + std::to_string(kAddressVersion) + " and fabrics 1 to 3";
    return false;
  }
  address = {.fabric = static_cast<Fabric>(fabric),
             .mtu = load_little<std::uint16_t>(&bytes.bytes[2]),
             .queue_pair = load_little<std::uint32_t>(&bytes.bytes[4]) & kQueuePairBits,
             .qkey = load_little<std::uint32_t>(&bytes.bytes[8]),
             .lid = load_little<std::uint16_t>(&bytes.bytes[12]),
             .gid = {},
             .route_header = flags == kRouteHeaderFlag,
             .partition_key = load_little<std::uint16_t>(&bytes.bytes[14]),
             .packets_of_sender = load_little<std::uint16_t>(&bytes.bytes[32])};
  for (std::size_t i = 0; i < address.gid.size(); ++i) {
    address.gid[i] = std::to_integer<std::uint8_t>(bytes.bytes[16 + i]);
  }
  const char* const fault = flags > kRouteHeaderFlag ? "flags that are unknown" : fault_of(address);
  if (fault != nullptr) {
    error = std::string("a verbs address with ") + fault;
    return false;
  }
  return true;
}

bool in_one_subnet(const Address& from, const Address& to) {
  return is_zero(from.gid) || is_zero(to.gid) ||
         std::equal(from.gid.begin(), from.gid.begin() + kSubnetPrefix, to.gid.begin());
}

std::uint16_t router_of(const Gid& gid) {
  const bool holds_one = gid[0] == 0xfe && gid[1] == 0xc0 && gid[2] == 0 && gid[3] == 0;
  return holds_one ? static_cast<std::uint16_t>(gid[4] << 8 | gid[5]) : std::uint16_t{0};
}

std::uint16_t next_lid(const Address& from, const Address& to) {
  return in_one_subnet(from, to) ? to.lid : router_of(to.gid);
}

bool compatible(const Address& from, const Address& to, std::string& error) {
  if (from.fabric != to.fabric || !same_kind(from.fabric, from.gid, to.gid)) {
    error = "the peer's port speaks " + std::string(to_text(to.fabric)) + " (GID " + to_text(to.gid) + "), this one " +
            std::string(to_text(from.fabric)) + " (GID " + to_text(from.gid) +
            "): both ends need the same fabric and the same kind of GID";
    return false;
  }
  const bool one_partition = partition_of(from.partition_key) == partition_of(to.partition_key);
  if (!one_partition || ((from.partition_key | to.partition_key) & kFullMember) == 0) {
    error = "the peer's port has P_Key " + key_text(to.partition_key) + ", this one " + key_text(from.partition_key) +
            ": both ends need the same partition, and one of them to be a full member of it (0x8000); "
            "OPENLAPI_VERBS_PKEY chooses one";
    return false;
  }
  if (from.fabric != Fabric::infiniband || in_one_subnet(from, to) || next_lid(from, to) != 0) return true;
  error = "the peer's port is in another InfiniBand subnet (GID " + to_text(to.gid) + ") than this one (GID " +
          to_text(from.gid) + "), and the LID of a router to it is not known: both ports need to be in one subnet, " +
          "or GIDs that have the router's LID in them (fec0::/32)";
  return false;
}

bool needs_global_route(const Address& from, const Address& to) {
  if (to.fabric != Fabric::infiniband || from.lid == 0 || to.lid == 0) return true;
  return from.route_header || to.route_header || !in_one_subnet(from, to);
}

}  // namespace openlapi::verbs
