// Ports and adapters that are not as soft-RoCE is: over the shim that says what real ones say (adapter_shim.h).
#include <gtest/gtest.h>

#include <net/if.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "nic/verbs/verbs_ports.h"
#include "tests/beds/verbs_adapters.h"

namespace openlapi::test {
namespace {

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
  ASSERT_TRUE(added(*left, 1, right->local_address(), error)) << error;
  ASSERT_TRUE(added(*right, 0, left->local_address(), error)) << error;
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
  EXPECT_FALSE(added(*left, 1, right->local_address(), error));
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
  EXPECT_FALSE(added(*left, 1, right->local_address(), error));
  EXPECT_NE(error.find("the peer's port has P_Key 0x8012, this one 0x8011"), std::string::npos) << error;
  EXPECT_FALSE(added(*right, 0, left->local_address(), error));
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

// The interface has got another address, which the table has before the old one.
TEST_F(VerbsAdapters, AGidThatHasAnotherIndexIsFoundAgain) {
  bed_changes = [](VerbsConfig& config) { config.link_status = true; };
  const VerbsPointer left = open_well("rxe0");
  const verbs::Gid before = left->address().gid;
  ASSERT_EQ(left->gid_index(), 1u);
  adapter_shim.gids = [](std::vector<ibv_gid_entry>& table) {
    for (ibv_gid_entry& entry : table) {
      if (entry.gid_index != 1) continue;
      ibv_gid_entry moved = entry;
      moved.gid_index = 4;
      entry.gid.raw[15] = 77;
      table.push_back(moved);
      return;
    }
  };
  tell_adapters(IBV_EVENT_GID_CHANGE);
  left->capabilities().link_status->look();
  EXPECT_EQ(left->gid_index(), 4u);
  EXPECT_EQ(left->address().gid, before) << "peers know this one";
}

void add_vlan() {
  command(
      "modprobe 8021q && ip link add link rdma0 name rdma0.5 type vlan id 5 && "
      "ip address add 10.78.0.1/24 dev rdma0.5 && ip link set rdma0.5 up");
}

TEST_F(VerbsAdapters, TheVlanOfAGidIsThatOfItsInterface) {
  add_vlan();
  const auto vlan_gid = [] {
    std::string reason;
    for (const verbs::PortFacts& port : verbs::find_ports("rxe0", reason)) {
      for (const verbs::GidFacts& gid : port.gids) {
        if (verbs::to_text(gid.gid) == "::ffff:10.78.0.1") return gid;
      }
    }
    return verbs::GidFacts{};
  };
  ASSERT_TRUE(wait_for([&] { return vlan_gid().vlan == 5; }));
  bed_changes = [](VerbsConfig& config) { config.port.vlan = 5; };
  const VerbsPointer left = open_well("rxe0");
  EXPECT_EQ(left->gid_index(), vlan_gid().index);
  command("ip link delete rdma0.5");
}

// The interface and its VLANs have the same link-local address.
TEST_F(VerbsAdapters, TheOwnGidIsFoundAgainInItsOwnVlan) {
  add_vlan();
  std::uint32_t index = 200;
  bool moved = false;
  adapter_shim.gids = [&](std::vector<ibv_gid_entry>& table) {
    const auto local = std::ranges::find(table, 0u, &ibv_gid_entry::gid_index);
    ASSERT_NE(local, table.end());
    ibv_gid_entry entry = *local;
    entry.ndev_ifindex = if_nametoindex("rdma0.5");
    entry.gid_index = index;
    table.push_back(entry);
    if (!moved) return;
    entry.gid_index = 200;
    entry.gid.raw[15] = 77;
    table.push_back(entry);
  };
  bed_changes = [](VerbsConfig& config) {
    config.port.vlan = 5;
    config.port.gid_prefix = verbs::gid_prefix("fe80::/10").value();
    config.link_status = true;
  };
  const VerbsPointer left = open_well("rxe0");
  ASSERT_EQ(left->gid_index(), 200u);
  index = 201;
  moved = true;
  tell_adapters(IBV_EVENT_GID_CHANGE);
  left->capabilities().link_status->look();
  EXPECT_EQ(left->gid_index(), 201u);
  command("ip link delete rdma0.5");
}

TEST_F(VerbsAdapters, TasksBehindOnePortShareAnAddressHandle) {
  VerbsPair pair;
  const VerbsPointer neighbour = open_well("rxe1");
  forget_requests();
  std::string error;
  for (PeerIndex peer = 2; peer != 40; ++peer) {
    ASSERT_TRUE(added(*pair.left, peer, neighbour->local_address(), error)) << error;
  }
  EXPECT_EQ(requests_of_adapter().handles.size(), 0u) << "the first task behind that port has one";
  ASSERT_TRUE(added(*pair.left, 2, neighbour->local_address(), error)) << error;
  EXPECT_TRUE(wait_for([] { return requests_of_adapter().handles.size() == 1; }))
      << "who is added again may have another neighbour's address";
  EXPECT_TRUE(gets_through(*pair.left, 39, *neighbour, 5));
  EXPECT_TRUE(gets_through(*pair.left, 1, *pair.right, 6));
}

// The kernel looks for that neighbour for a second each time.
TEST_F(VerbsAdapters, APortThatDoesNotAnswerIsLookedForOnce) {
  const VerbsPointer left = open_well("rxe0");
  int attempts = 0;
  adapter_shim.before_handle = [&] { ++attempts; };
  verbs::Address nobody = left->address();
  nobody.gid[15] = 99;
  for (PeerIndex peer = 1; peer != 41; ++peer) {
    nobody.queue_pair = 100 + peer;
    std::string error;
    EXPECT_FALSE(added(*left, peer, verbs::encode(nobody), error));
    EXPECT_NE(error.find("rxe0 finds no way to GID"), std::string::npos) << error;
  }
  EXPECT_EQ(attempts, 1);
  std::string error;
  const VerbsPointer right = open_well("rxe1");
  EXPECT_TRUE(added(*left, 1, right->local_address(), error)) << error;
  EXPECT_EQ(attempts, 2) << "of other ports that says nothing";
}

// It used to be reset again and again.
TEST_F(VerbsAdapters, AnAdapterThatHasFailedIsGivenUp) {
  bed_changes = [](VerbsConfig& config) { config.link_status = config.tell = true; };
  bed_connects_after = 1;
  bed_has_bulk = true;
  VerbsPair pair;
  expect_exchange(pair);
  LinkStatus& status = *pair.left->capabilities().link_status;
  EXPECT_TRUE(status.reaches(1));
  forget_requests();
  testing::internal::CaptureStderr();
  tell_adapters(IBV_EVENT_DEVICE_FATAL);
  status.look();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("rxe0 has failed"), std::string::npos);
  EXPECT_FALSE(status.reaches(1));
  EXPECT_FALSE(pair.left->has_link());
  ibv_qp_attr broken{};
  broken.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(ibv_modify_qp(pair.left->queue_pair(), &broken, IBV_QP_STATE), 0);
  const std::uint64_t lost = pair.left->verbs_counters().lost_packets;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    EXPECT_EQ(send_number(*pair.left, 1, i + 1), 1u) << "it takes packets, and loses them";
    empty(*pair.left);
  }
  EXPECT_GE(pair.left->verbs_counters().lost_packets - lost, 5000u);
  EXPECT_EQ(requests_of_adapter().resets, 0);
  EXPECT_EQ(pair.left->verbs_counters().failed_recoveries, 0u);
  EXPECT_TRUE(pair.left->capabilities().wake_source->arm()) << "nothing keeps the task awake";
  EXPECT_FALSE(pair.left->capabilities().bulk_memory->reachable(1));
}

// Whoever sleeps then would hear of these reads no more.
TEST_F(VerbsAdapters, WhatAFailedAdapterHasNotReadEndsBeforeAnybodySleeps) {
  bed_changes = [](VerbsConfig& config) { config.link_status = true; };
  bed_has_bulk = true;
  VerbsPair pair;
  expect_exchange(pair);
  BulkMemory& reader = *pair.left->capabilities().bulk_memory;
  std::vector<std::byte> source(1 << 20), sink(source.size());
  MemoryKey key;
  ASSERT_TRUE(pair.right->capabilities().bulk_memory->expose(source.data(), source.size(), key));
  ASSERT_EQ(reader.begin_read(1, reinterpret_cast<std::uintptr_t>(source.data()), key, sink.data(), sink.size(), 5,
                              {reinterpret_cast<std::uintptr_t>(sink.data()), sink.size()}),
            BulkMemory::Begin::begun);
  tell_adapters(IBV_EVENT_DEVICE_FATAL);
  testing::internal::CaptureStderr();
  pair.left->capabilities().link_status->look();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "nobody wants to be told";
  empty(*pair.left);
  EXPECT_FALSE(pair.left->capabilities().wake_source->arm()) << "a read has ended";
  BulkMemory::Ending ending{};
  ASSERT_EQ(reader.take_endings({&ending, 1}), 1u);
  EXPECT_FALSE(ending.done);
  EXPECT_TRUE(pair.left->capabilities().wake_source->arm());
  pair.right->capabilities().bulk_memory->withdraw(key);
}

TEST_F(VerbsAdapters, APartitionThatMovesInThePortsTableIsFollowed) {
  adapter_shim.infiniband = true;
  adapter_shim.partitions = {0x8011};
  bed_changes = [](VerbsConfig& config) { config.link_status = true; };
  VerbsPair pair;
  expect_exchange(pair);
  forget_requests();
  adapter_shim.partitions = {0x8012, 0x7fff, 0x8011};
  tell_adapters(IBV_EVENT_PKEY_CHANGE);
  pair.left->capabilities().link_status->look();
  pair.right->capabilities().link_status->look();
  expect_exchange(pair);
  EXPECT_EQ(requests_of_adapter().partitions, (std::vector<std::uint16_t>{2, 2}));
  EXPECT_EQ(pair.left->address().partition_key, 0x8011);
}

// The inline bytes that a transport has: as many as the longest packet that goes inline.
std::uint32_t inline_bytes(VerbsTransport& from) {
  std::uint32_t longest = 0;
  for (std::uint32_t length = 8; length <= 256; ++length) {
    const std::uint64_t before = from.verbs_counters().inline_sends;
    while (send_number(from, 1, 1, length) != 1) empty(from);
    if (from.verbs_counters().inline_sends != before) longest = length;
  }
  return longest;
}

TEST_F(VerbsAdapters, AllInlineBytesThatAnAdapterHasAreFound) {
  for (const std::uint32_t most : {0u, 48u, 96u, 101u, 220u}) {
    for (const bool silent : {false, true}) {
      adapter_shim.most_inline = most;
      adapter_shim.silent = silent;
      errno = ENOMEM;  // of something before, which a silent refusal leaves there
      VerbsPair pair;
      EXPECT_EQ(inline_bytes(*pair.left), most) << (silent ? "silent" : "with errno");
    }
  }
}

// Each attempt to make a queue pair is a command of the adapter's firmware.
TEST_F(VerbsAdapters, WhatAnAdapterHasIsAskedForOnce) {
  adapter_shim.most_inline = 101;
  bed_connects_after = 1;
  VerbsPair pair;
  expect_exchange(pair);
  const auto connect_again = [&] {
    std::string error;
    EXPECT_TRUE(added(*pair.left, 1, pair.right->local_address(), error)) << error;
    const std::uint64_t made = pair.left->connections()->counters().connections_made;
    std::uint64_t number = 1000;
    EXPECT_TRUE(wait_for([&] {
      gets_through(*pair.left, 1, *pair.right, number++);
      gets_through(*pair.right, 0, *pair.left, number++);  // takes what connects, too
      return pair.left->connections()->counters().connections_made != made;
    }));
  };
  connect_again();
  forget_requests();
  connect_again();
  for (const std::uint32_t bytes : requests_of_adapter().inline_bytes) EXPECT_TRUE(bytes == 0 || bytes == 101) << bytes;
  EXPECT_LE(requests_of_adapter().inline_bytes.size(), 2u) << "one at each end";
}

// Short packets went through memory there, although two pieces are enough for most.
TEST_F(VerbsAdapters, PacketsGoInlineWhereRequestsHaveFewPieces) {
  adapter_shim.most_pieces = 2;
  VerbsPair pair;
  EXPECT_EQ(inline_bytes(*pair.left), 256u);
  const char text[] = "abcdefghijklmnop";
  std::array<ConstBuffer, 4> pieces;
  for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i] = {reinterpret_cast<const std::byte*>(text + 4 * i), 4};
  empty(*pair.right);
  const OutgoingPacket packet{pieces, 16};
  ASSERT_EQ(pair.left->send_burst(1, {&packet, 1}), 1u);
  std::uint64_t first = 0;
  std::memcpy(&first, text, sizeof first);
  EXPECT_EQ(receive_number(*pair.right), first) << "four pieces are gathered";
}

TEST_F(VerbsAdapters, WithoutSharedReceiveQueuesPacketsGoAsDatagrams) {
  adapter_shim.no_shared_queues = true;
  bed_connects_after = 1;
  VerbsPair pair;
  expect_exchange(pair);
  EXPECT_EQ(pair.left->connections()->counters().connections_made, 0u);
  EXPECT_EQ(pair.left->connections()->counters().packets_sent, 0u);
}

TEST_F(VerbsAdapters, AnAdapterThatReadsOneAtATimeReads) {
  adapter_shim.most_reads = 1;
  bed_has_bulk = true;
  VerbsPair pair;
  read_bulk(pair, 8 << 20);
}

// Soft-RoCE gets two pieces of a MiB at a time, since it would lose more of them.
TEST_F(VerbsAdapters, SoftRoceIsGivenTwoReadsAtATimeAndHardwareAllOfThem) {
  bed_has_bulk = true;
  {
    VerbsPair pair;
    EXPECT_EQ(read_bulk(pair, 4 << 20), 2u);
  }
  EXPECT_EQ(requests_of_adapter().reads, std::vector<std::uint32_t>(4, 1 << 20));
  forget_requests();
  adapter_shim.hardware = true;
  VerbsPair pair;
  command("sysctl -q -w net.core.netdev_max_backlog=100000");
  EXPECT_EQ(read_bulk(pair, 8 << 20), 4u);
  EXPECT_EQ(requests_of_adapter().reads, std::vector<std::uint32_t>(4, 2 << 20));
}

// However short its packets are: with pieces of some hundred of those a long read did not fit into the queue.
TEST_F(VerbsAdapters, PiecesForHardwareHaveTwoMegabytesAtAnyMtu) {
  bed_has_bulk = true;
  adapter_shim.hardware = true;
  VerbsPair pair(1024, 1024);
  command("sysctl -q -w net.core.netdev_max_backlog=100000");
  EXPECT_EQ(read_bulk(pair, 4 << 20), 2u);
  EXPECT_EQ(requests_of_adapter().reads, std::vector<std::uint32_t>(2, 2 << 20));
}

TEST_F(VerbsAdapters, OnlyMemoryOfBulkTransfersIsWrittenInAnyOrder) {
  bed_has_bulk = true;
  VerbsPair pair;
  ASSERT_FALSE(requests_of_adapter().rights.empty());
  for (const int rights : requests_of_adapter().rights) EXPECT_EQ(rights & IBV_ACCESS_RELAXED_ORDERING, 0);
  forget_requests();
  read_bulk(pair, 1 << 20);
  ASSERT_FALSE(requests_of_adapter().rights.empty());
  for (const int rights : requests_of_adapter().rights) EXPECT_NE(rights & IBV_ACCESS_RELAXED_ORDERING, 0);
}

TEST_F(VerbsAdapters, OtherKindsOfDevicesAreRefusedWithWhatServesInstead) {
  VerbsSetupError error;
  adapter_shim.transport = IBV_TRANSPORT_UNSPECIFIED;
  EXPECT_EQ(open_on("rxe0", error), nullptr);
  EXPECT_NE(error.text.find("rxe0 is neither InfiniBand nor RoCE but of a kind of its own (as Amazon's EFA)"),
            std::string::npos)
      << error.text;
  EXPECT_NE(error.text.find("MP_EUILIB=ip"), std::string::npos) << error.text;
  adapter_shim.transport = IBV_TRANSPORT_IWARP;
  EXPECT_EQ(open_on("rxe0", error), nullptr);
  EXPECT_NE(error.text.find("rxe0 speaks iWARP, which has no datagrams"), std::string::npos) << error.text;
}

}  // namespace
}  // namespace openlapi::test
