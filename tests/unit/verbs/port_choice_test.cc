#include "nic/verbs/port_choice.h"

#include <gtest/gtest.h>

namespace openlapi::verbs {
namespace {

constexpr Gid kIpv4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 1};
constexpr Gid kIpv6 = {0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
constexpr Gid kLocal = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x77, 0, 0xff, 0xfe, 0, 0, 1};

PortFacts port(std::string device, bool ethernet, std::vector<GidFacts> gids, std::uint32_t number = 1) {
  PortFacts facts;
  facts.device = std::move(device);
  facts.port = number;
  facts.ethernet = ethernet;
  facts.active = true;
  facts.state = "PORT_ACTIVE";
  facts.mtu = 4096;
  facts.lid = ethernet ? 0 : 7;
  facts.gids = std::move(gids);
  if (!ethernet) facts.partitions = {{0, kDefaultPartition}};
  return facts;
}

PortFacts roce(std::string device, std::uint32_t number = 1) {
  return port(std::move(device), true, {{0, Fabric::roce_v2, kLocal}, {1, Fabric::roce_v2, kIpv4}}, number);
}

PortFacts infiniband(std::string device) { return port(std::move(device), false, {{0, Fabric::infiniband, kLocal}}); }

int gid_of(std::vector<GidFacts> gids, const PortPreference& preference = {}) {
  std::string reason;
  const auto chosen = choose_gid(port("a", true, std::move(gids)), preference, reason);
  return chosen ? static_cast<int>(chosen->index) : -1;
}

std::string refusal(std::vector<PortFacts> ports, const PortPreference& preference = {}) {
  std::string reason;
  return choose_port(ports, preference, reason) ? std::string("chosen") : reason;
}

TEST(PortChoice, TakesTheBestKindOfGid) {
  const GidFacts local1{0, Fabric::roce_v1, kLocal}, local2{1, Fabric::roce_v2, kLocal};
  const GidFacts four1{2, Fabric::roce_v1, kIpv4}, four2{3, Fabric::roce_v2, kIpv4};
  const GidFacts six1{4, Fabric::roce_v1, kIpv6}, six2{5, Fabric::roce_v2, kIpv6};
  EXPECT_EQ(gid_of({local1, local2, four1, four2, six1, six2}), 3);
  EXPECT_EQ(gid_of({six2, six1, four2, four1, local2, local1}), 3) << "in any order of the table";
  EXPECT_EQ(gid_of({local1, local2, four1, six1, six2}), 5);
  EXPECT_EQ(gid_of({local1, local2, four1, six1}), 1);
  EXPECT_EQ(gid_of({local1, four1, six1}), 2);
  EXPECT_EQ(gid_of({local1, six1}), 4);
  EXPECT_EQ(gid_of({local1}), 0);
}

TEST(PortChoice, TakesTheLowestIndexOfAKindAndNoEmptyOne) {
  EXPECT_EQ(gid_of({{7, Fabric::roce_v2, kIpv4}, {3, Fabric::roce_v2, kIpv4}, {5, Fabric::roce_v2, kIpv4}}), 3);
  EXPECT_EQ(gid_of({{0, Fabric::roce_v2, Gid{}}, {3, Fabric::roce_v1, kLocal}}), 3);
  EXPECT_EQ(gid_of({}), -1);
}

TEST(PortChoice, TakesTheIndexThatIsWantedOrSaysWhatThereIs) {
  const std::vector<GidFacts> gids = {{0, Fabric::roce_v2, kLocal}, {1, Fabric::roce_v2, kIpv4}};
  EXPECT_EQ(gid_of(gids, {.device = {}, .gid_index = 0}), 0);
  EXPECT_EQ(gid_of(gids, {.device = {}, .gid_index = 9}), -1);
  PortPreference preference;
  preference.gid_index = 9;
  EXPECT_EQ(refusal({roce("rxe0")}, preference),
            "rxe0 port 1 has no GID with index 9; it has 0 (fe80:0:0:0:77:ff:fe00:1, RoCE v2), "
            "1 (::ffff:10.77.0.1, RoCE v2)");
}

PortPreference network(const char* prefix) {
  PortPreference preference;
  preference.gid_prefix = gid_prefix(prefix).value();
  return preference;
}

TEST(PortChoice, TakesAGidOfTheNetworkThatIsWanted) {
  const std::vector<GidFacts> gids = {
      {0, Fabric::roce_v2, kLocal}, {1, Fabric::roce_v2, kIpv4}, {2, Fabric::roce_v2, kIpv6}};
  EXPECT_EQ(gid_of(gids, network("10.77.0.0/16")), 1);
  EXPECT_EQ(gid_of(gids, network("10.77.0.1/32")), 1);
  EXPECT_EQ(gid_of(gids, network("10.76.0.0/15")), 1);
  EXPECT_EQ(gid_of(gids, network("10.78.0.0/16")), -1);
  EXPECT_EQ(gid_of(gids, network("fd77::/64")), 2);
  EXPECT_EQ(gid_of(gids, network("fe80::/10")), 0);
  EXPECT_EQ(refusal({roce("rxe0")}, network("10.78.0.0/16")),
            "rxe0 port 1 has no GID within ::ffff:10.78.0.0/112 with an index up to 255; it has "
            "0 (fe80:0:0:0:77:ff:fe00:1, RoCE v2), 1 (::ffff:10.77.0.1, RoCE v2)");
}

TEST(PortChoice, TakesAGidOfTheVlanThatIsWantedAndElseOneWithout) {
  const std::vector<GidFacts> gids = {
      {1, Fabric::roce_v2, kIpv4, 5}, {2, Fabric::roce_v2, kIpv4}, {3, Fabric::roce_v2, kIpv4, 6}};
  EXPECT_EQ(gid_of(gids), 2);
  PortPreference preference;
  preference.vlan = 6;
  EXPECT_EQ(gid_of(gids, preference), 3);
  preference.vlan = 0;
  EXPECT_EQ(gid_of(gids, preference), 2);
  preference.vlan = 9;
  EXPECT_EQ(gid_of(gids, preference), -1);
  EXPECT_NE(refusal({port("rxe0", true, gids)}, preference).find("has no GID in VLAN 9"), std::string::npos);
}

TEST(PortChoice, WishesForRoceDoNotCountForInfiniBandNorTheOtherWayRound) {
  PortPreference preference;
  preference.vlan = 5;
  EXPECT_EQ(refusal({infiniband("mlx5_0")}, preference), "chosen");
  PortFacts none = infiniband("mlx5_0");
  none.gids[0].index = 300;
  EXPECT_EQ(refusal({none}, preference).find("VLAN"), std::string::npos) << "that is not why";
  preference = {};
  preference.partition = 0x11;
  EXPECT_EQ(refusal({roce("rxe0")}, preference), "chosen");
}

// A route to a peer names it by 8 bits: with 257 packets would come from GID 1.
TEST(PortChoice, LeavesOutGidsThatRoutesCannotName) {
  EXPECT_EQ(gid_of({{256, Fabric::roce_v2, kIpv4}, {255, Fabric::roce_v1, kIpv4}}), 255);
  EXPECT_NE(
      refusal({port("a", true, {{257, Fabric::roce_v2, kIpv4}})}).find("no GID with an index up to 255; it has 257"),
      std::string::npos);
}

TEST(GidPrefixes, AreAddressesAndBits) {
  for (const char* right : {"10.0.0.0/8", "0.0.0.0/1", "::/1", "fd77::1/128"}) EXPECT_TRUE(gid_prefix(right)) << right;
  for (const char* wrong :
       {"", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0/8", "fd77::/129", "fd77::/0", "/8", "a/8"}) {
    EXPECT_FALSE(gid_prefix(wrong)) << wrong;
  }
  EXPECT_TRUE(GidPrefix{}.covers(kLocal));
}

TEST(PortChoice, OrdersPorts) {
  const auto chosen = [](std::vector<PortFacts> ports, const PortPreference& preference = {}) {
    std::string reason;
    const auto choice = choose_port(ports, preference, reason);
    return choice ? ports[choice->which].device + ":" + std::to_string(ports[choice->which].port) : reason;
  };
  EXPECT_EQ(chosen({roce("mlx5_10"), roce("mlx5_2", 2), roce("mlx5_2")}), "mlx5_2:1");
  EXPECT_EQ(chosen({roce("a0"), infiniband("mlx5_1")}), "mlx5_1:1");
  EXPECT_EQ(chosen({roce("a0"), roce("a1")}, {.device = "a1"}), "a1:1");
  EXPECT_EQ(chosen({roce("a0"), roce("a0", 2)}, {.device = "", .port = 2}), "a0:2");
  PortFacts down = roce("a0");
  down.active = false;
  EXPECT_EQ(chosen({down, roce("a1")}), "a1:1");
  EXPECT_EQ(chosen({port("a0", true, {}), roce("a1")}), "a1:1");
}

// Its index in the port's table, or what is said.
std::string partition_of_port(std::vector<PartitionFacts> partitions, std::uint16_t wanted = 0) {
  PortFacts facts = infiniband("mlx5_0");
  facts.partitions = std::move(partitions);
  std::string reason;
  const auto choice = choose_port({&facts, 1}, {.device = {}, .partition = wanted}, reason);
  return choice ? std::to_string(choice->partition.index) : reason;
}

TEST(PortChoice, TakesTheFirstPartitionOfWhichThePortIsAFullMember) {
  EXPECT_EQ(partition_of_port({{0, 0xffff}, {1, 0x8001}}), "0");
  EXPECT_EQ(partition_of_port({{0, 0x7fff}, {2, 0x8001}, {3, 0x8002}}), "2");
  EXPECT_EQ(partition_of_port({{1, 0x7fff}, {2, 0x0001}}), "1") << "if of none";
  EXPECT_EQ(partition_of_port({}), "mlx5_0 port 1 is in no partition: its subnet manager has given it no P_Key");
}

TEST(PortChoice, TakesThePartitionThatIsWantedOrSaysWhatThereIs) {
  const std::vector<PartitionFacts> partitions = {{0, 0xffff}, {1, 0x0001}, {4, 0x8001}, {5, 0x8002}};
  EXPECT_EQ(partition_of_port(partitions, 2), "5");
  EXPECT_EQ(partition_of_port(partitions, 1), "4") << "as a full member";
  EXPECT_EQ(partition_of_port(partitions, 3),
            "mlx5_0 port 1 is not in partition 0x0003; it has 0xffff, 0x0001, 0x8001, 0x8002");
}

TEST(PortChoice, SaysWhyNoPortCanBeUsed) {
  EXPECT_EQ(refusal({}), "this machine has no RDMA device");
  EXPECT_EQ(refusal({roce("rxe0")}, {.device = "mlx5_0"}), "there is no RDMA device mlx5_0; there is rxe0 port 1");
  EXPECT_EQ(refusal({roce("rxe0")}, {.device = "rxe0", .port = 2}),
            "there is no RDMA device rxe0 port 2; there is rxe0 port 1");
  PortFacts down = roce("rxe0");
  down.active = false;
  down.state = "PORT_DOWN";
  PortFacts closed;
  closed.device = "rxe1";
  closed.problem = "may not be used by this user";
  EXPECT_EQ(refusal({down, closed, port("rxe2", true, {})}),
            "rxe0 port 1 is not active but PORT_DOWN; rxe1 may not be used by this user; "
            "rxe2 port 1 has no GID: its network interface needs an IP address");
  EXPECT_EQ(refusal({down, closed}, {.device = "rxe1", .port = 2}), "rxe1 may not be used by this user");
  PortFacts narrow = roce("rxe0");
  narrow.mtu = 512;
  EXPECT_NE(refusal({narrow}).find("carries 512 bytes"), std::string::npos);
}

}  // namespace
}  // namespace openlapi::verbs
