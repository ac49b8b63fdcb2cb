#include "nic/verbs/datagram_origins.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace openlapi::verbs {
namespace {

using RouteHeader = std::array<std::byte, 40>;

constexpr Gid kHere{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 1};
constexpr Gid kThere{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 2};
constexpr Gid kElsewhere{0xfe, 0xc0, 0, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 0, 0, 2};

Address address(Fabric fabric, const Gid& gid, std::uint16_t lid = 0, std::uint32_t queue_pair = 17) {
  return {.fabric = fabric, .mtu = 1024, .queue_pair = queue_pair, .qkey = 1, .lid = lid, .gid = gid};
}

Gid ipv4(std::uint8_t last) { return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, last}; }

RouteHeader header_from(const Gid& gid) {
  RouteHeader header{};
  std::memcpy(header.data() + 8, gid.data(), gid.size());
  return header;
}

// What an adapter leaves of an IPv4 header.
RouteHeader header_from_ipv4(std::uint8_t last) {
  RouteHeader header;
  header.fill(std::byte{0xa5});
  const Gid gid = ipv4(last);
  std::memcpy(header.data() + 32, gid.data() + 12, 4);
  return header;
}

ibv_wc from(std::uint32_t queue_pair, std::uint16_t lid = 0, bool has_header = false) {
  ibv_wc arrival{};
  arrival.src_qp = queue_pair;
  arrival.slid = lid;
  arrival.wc_flags = has_header ? IBV_WC_GRH : 0;
  return arrival;
}

// Of datagrams from the end and from others, whose queue pair or address is another one.
void expect_found(const Address& own, const Address& end, const ibv_wc& arrival, const RouteHeader& header) {
  DatagramOrigins origins;
  EXPECT_EQ(origins.find(own, arrival, header.data()), 0u);
  const std::uint64_t number = DatagramOrigins::number_of(own, end);
  EXPECT_NE(number, 0u);
  origins.add(number);
  EXPECT_EQ(origins.find(own, arrival, header.data()), number);
  ibv_wc other = arrival;
  ++other.src_qp;
  EXPECT_EQ(origins.find(own, other, header.data()), 0u);
  origins.remove(number);
  EXPECT_EQ(origins.find(own, arrival, header.data()), 0u);
}

TEST(DatagramOrigins, AreAddressesOfRoce) {
  expect_found(address(Fabric::roce_v2, ipv4(1)), address(Fabric::roce_v2, ipv4(2)), from(17), header_from_ipv4(2));
  for (const Fabric fabric : {Fabric::roce_v1, Fabric::roce_v2}) {
    expect_found(address(fabric, kHere), address(fabric, kThere), from(17), header_from(kThere));
  }
  expect_found(address(Fabric::roce_v1, ipv4(1)), address(Fabric::roce_v1, ipv4(2)), from(17), header_from(ipv4(2)));
}

TEST(DatagramOrigins, AreLidsWithinASubnetOfInfiniband) {
  const Address own = address(Fabric::infiniband, kHere, 3);
  expect_found(own, address(Fabric::infiniband, kThere, 4), from(17, 4), {});
  expect_found(own, address(Fabric::infiniband, kElsewhere, 4), from(17, 9, true), header_from(kElsewhere));
}

// Adapters number their queue pairs alike.
TEST(DatagramOrigins, TellAdaptersApart) {
  const Address own = address(Fabric::roce_v2, ipv4(1));
  DatagramOrigins origins;
  origins.add(DatagramOrigins::number_of(own, address(Fabric::roce_v2, ipv4(2))));
  EXPECT_EQ(origins.find(own, from(17), header_from_ipv4(3).data()), 0u);
  const Address near = address(Fabric::infiniband, kHere, 3);
  EXPECT_NE(DatagramOrigins::number_of(near, address(Fabric::infiniband, kThere, 4)),
            DatagramOrigins::number_of(near, address(Fabric::infiniband, kThere, 5)));
}

}  // namespace
}  // namespace openlapi::verbs
