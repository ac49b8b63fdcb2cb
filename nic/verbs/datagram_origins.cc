#include "nic/verbs/datagram_origins.h"

#include <cstring>

namespace openlapi::verbs {
namespace {

// Where a route header has the sender's GID; over RoCE v2 with IPv4 its end is an IPv4 header.
constexpr std::size_t kGidInHeader = 8;
constexpr std::size_t kIpv4InHeader = 32;
constexpr std::size_t kIpv4InGid = 12;

std::uint64_t mixed(std::uint64_t number) {
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
  number = (number ^ number >> 27) * 0x94d049bb133111eb;
  return number ^ number >> 31;
}

std::uint64_t number_of(const Gid& gid, std::uint32_t queue_pair) {
  std::uint64_t halves[2];
  static_assert(sizeof halves == sizeof(Gid));
  std::memcpy(halves, gid.data(), sizeof halves);
  return mixed(mixed(mixed(halves[0]) ^ halves[1]) ^ queue_pair) | 1;
}

Gid gid_of(std::uint16_t lid) { return {static_cast<std::uint8_t>(lid >> 8), static_cast<std::uint8_t>(lid)}; }

Gid sender_in(const Address& own, const std::byte* route_header) {
  Gid gid{};
  if (own.fabric == Fabric::roce_v2 && is_ipv4(own.gid)) {
    gid[10] = gid[11] = 0xff;
    std::memcpy(gid.data() + kIpv4InGid, route_header + kIpv4InHeader, gid.size() - kIpv4InGid);
  } else {
    std::memcpy(gid.data(), route_header + kGidInHeader, gid.size());
  }
  return gid;
}

}  // namespace

// Packets to the end have a route header if, and only if, those from there have one.
std::uint64_t DatagramOrigins::number_of(const Address& own, const Address& end) {
  return verbs::number_of(needs_global_route(own, end) ? end.gid : gid_of(end.lid), end.queue_pair);
}

// Not every driver says that there is a route header where there always is one.
std::uint64_t DatagramOrigins::find_known(const Address& own, const ibv_wc& arrival,
                                          const std::byte* route_header) const {
  const bool has_header = own.fabric != Fabric::infiniband || (arrival.wc_flags & IBV_WC_GRH) != 0;
  const Gid sender = has_header ? sender_in(own, route_header) : gid_of(arrival.slid);
  const std::uint64_t number = verbs::number_of(sender, arrival.src_qp);
  return numbers_.contains(number) ? number : 0;
}

}  // namespace openlapi::verbs
