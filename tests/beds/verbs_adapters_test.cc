// Ports and adapters that are not as soft-RoCE is: over the shim that says what real ones say (adapter_shim.h).
#include <gtest/gtest.h>

#include "tests/beds/adapter_shim.h"
#include "tests/beds/verbs_bed.h"

namespace openlapi::test {
namespace {

class VerbsAdapters : public testing::Test {
 protected:
  VerbsAdapters() { forget_requests(); }
  ~VerbsAdapters() override {
    adapter_shim = {};
    bed_changes = nullptr;
    bed_has_bulk = false;
    bed_connects_after = 0;
  }

  // Datagrams, and packets through connections, get through in both directions.
  void expect_exchange(VerbsPair& pair) {
    for (std::uint64_t number = 1; number != 40; ++number) {
      ASSERT_TRUE(gets_through(*pair.left, 1, *pair.right, number));
      ASSERT_TRUE(gets_through(*pair.right, 0, *pair.left, 100 + number));
    }
  }
};

TEST_F(VerbsAdapters, AnInfiniBandPortIsUsedByItsLid) {
  adapter_shim.infiniband = true;
  VerbsPair pair;
  EXPECT_EQ(pair.left->address().fabric, verbs::Fabric::infiniband);
  EXPECT_EQ(pair.right->address().lid, 2);
  expect_exchange(pair);
  for (const ibv_ah_attr& handle : requests_of_adapter().handles) EXPECT_EQ(handle.is_global, 0);
}

TEST_F(VerbsAdapters, AnInfiniBandPortThatDemandsARouteHeaderGetsIt) {
  adapter_shim.infiniband = true;
  adapter_shim.route_header_required = true;
  VerbsPair pair;
  EXPECT_TRUE(pair.left->address().route_header);
  expect_exchange(pair);
  const AdapterRequests requests = requests_of_adapter();
  ASSERT_EQ(requests.handles.size(), 2u);
  for (const ibv_ah_attr& handle : requests.handles) {
    EXPECT_EQ(handle.is_global, 1);
    EXPECT_NE(handle.dlid, 0);
  }
}

// One port alone may demand it: of the same subnet, another one.
TEST_F(VerbsAdapters, TheNeedOfARouteHeaderIsToldToPeers) {
  adapter_shim.infiniband = true;
  const VerbsPointer left = open_well("rxe0");
  adapter_shim.route_header_required = true;
  const VerbsPointer right = open_well("rxe1");
  std::string error;
  ASSERT_TRUE(left->add_peer(1, right->local_address(), error)) << error;
  ASSERT_TRUE(right->add_peer(0, left->local_address(), error)) << error;
  EXPECT_TRUE(gets_through(*left, 1, *right, 7));
  EXPECT_TRUE(gets_through(*right, 0, *left, 8));
}

TEST_F(VerbsAdapters, APeerInAnotherInfiniBandSubnetIsRefusedWithTheReason) {
  adapter_shim.infiniband = true;
  const VerbsPointer left = open_well("rxe0");
  adapter_shim.gids = [](std::vector<ibv_gid_entry>& table) {
    for (ibv_gid_entry& entry : table) entry.gid.raw[7] = 9;
  };
  const VerbsPointer right = open_well("rxe1");
  std::string error;
  EXPECT_FALSE(left->add_peer(1, right->local_address(), error));
  EXPECT_NE(error.find("another InfiniBand subnet"), std::string::npos) << error;
}

// Index 0 has the default partition, of which the port is a limited member: no two of them reach each other in it.
TEST_F(VerbsAdapters, TheFirstPartitionOfAFullMemberIsUsed) {
  adapter_shim.infiniband = true;
  adapter_shim.partitions = {0x7fff, 0, 0x8011, 0x8012};
  bed_has_bulk = true;
  bed_connects_after = 1;
  {
    VerbsPair pair;
    EXPECT_EQ(pair.left->address().partition_key, 0x8011);
    expect_exchange(pair);
    EXPECT_NE(pair.left->connections()->counters().packets_sent, 0u);
  }
  const std::vector<std::uint16_t> indices = requests_of_adapter().partitions;
  EXPECT_GE(indices.size(), 4u);
  for (const std::uint16_t index : indices) EXPECT_EQ(index, 2);
}

TEST_F(VerbsAdapters, PeersInDifferentPartitionsAreRefusedAtBothEnds) {
  adapter_shim.infiniband = true;
  adapter_shim.partitions = {0x8011};
  const VerbsPointer left = open_well("rxe0");
  adapter_shim.partitions = {0x8012};
  const VerbsPointer right = open_well("rxe1");
  std::string error;
  EXPECT_FALSE(left->add_peer(1, right->local_address(), error));
  EXPECT_NE(error.find("the peer's port has P_Key 0x8012, this one 0x8011"), std::string::npos) << error;
  EXPECT_FALSE(right->add_peer(0, left->local_address(), error));
  EXPECT_NE(error.find("the peer's port has P_Key 0x8011, this one 0x8012"), std::string::npos) << error;
}

TEST_F(VerbsAdapters, RoceV2HasTheUsualTrafficClass) {
  bed_connects_after = 1;
  VerbsPair pair;
  expect_exchange(pair);
  const AdapterRequests requests = requests_of_adapter();
  ASSERT_FALSE(requests.handles.empty() || requests.routes.empty());
  for (const ibv_ah_attr& handle : requests.handles) EXPECT_EQ(handle.grh.traffic_class, 106);
  for (const ibv_ah_attr& route : requests.routes) EXPECT_EQ(route.grh.traffic_class, 106);
}

TEST_F(VerbsAdapters, ServiceLevelAndTrafficClassAreThoseThatAreWanted) {
  bed_connects_after = 1;
  bed_changes = [](VerbsConfig& config) {
    config.service_level = 5;
    config.traffic_class = 72;
  };
  VerbsPair pair;
  expect_exchange(pair);
  const AdapterRequests requests = requests_of_adapter();
  ASSERT_FALSE(requests.handles.empty() || requests.routes.empty());
  for (const ibv_ah_attr& handle : requests.handles) {
    EXPECT_EQ(handle.sl, 5);
    EXPECT_EQ(handle.grh.traffic_class, 72);
  }
  for (const ibv_ah_attr& route : requests.routes) {
    EXPECT_EQ(route.sl, 5);
    EXPECT_EQ(route.grh.traffic_class, 72);
  }
}

}  // namespace
}  // namespace openlapi::test
