#include "nic/verbs/verbs_address.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace openlapi::verbs {
namespace {

constexpr Gid kIpv4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 2};
constexpr Gid kIpv6 = {0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
constexpr Gid kNode = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x02, 0x77, 0, 0xff, 0xfe, 0, 0, 1};

Address roce() {
  return {.fabric = Fabric::roce_v2,
          .mtu = 4096,
          .queue_pair = 0x123456,
          .qkey = 0x789abcde & 0x7fffffff,
          .gid = kIpv4,
          .packets_of_sender = 448};
}
Address infiniband() { return {Fabric::infiniband, 2048, 17, 5, 0x1234, kNode}; }

// A port that takes no packets without a route header.
Address demanding() {
  Address address = infiniband();
  address.route_header = true;
  return address;
}

std::string refusal(const PeerAddress& bytes) {
  Address address;
  std::string error;
  return decode(bytes, address, error) ? std::string() : error;
}

TEST(VerbsAddress, HasTheseBytes) {
  const PeerAddress bytes = encode(roce());
  const std::uint8_t expected[] = {3, 3, 0, 0x10, 0x56, 0x34, 0x12, 0, 0xde, 0xbc, 0x9a, 0x78, 0,  0, 0xff, 0xff, 0,
                                   0, 0, 0, 0,    0,    0,    0,    0, 0,    0xff, 0xff, 10,   77, 0, 2,    0xc0, 1};
  ASSERT_EQ(bytes.length, sizeof expected);
  for (std::size_t i = 0; i < sizeof expected; ++i) {
    EXPECT_EQ(std::to_integer<unsigned>(bytes.bytes[i]), expected[i]) << "byte " << i;
  }
  EXPECT_EQ(std::to_integer<unsigned>(encode(infiniband()).bytes[12]), 0x34u);
  EXPECT_EQ(std::to_integer<unsigned>(encode(infiniband()).bytes[13]), 0x12u);
  EXPECT_EQ(std::to_integer<unsigned>(encode(demanding()).bytes[7]), 1u);
}

TEST(VerbsAddress, ComesBackAsItWas) {
  for (const Address& address : {roce(), infiniband(), demanding()}) {
    Address back;
    std::string error;
    ASSERT_TRUE(decode(encode(address), back, error)) << error;
    EXPECT_EQ(back.fabric, address.fabric);
    EXPECT_EQ(back.mtu, address.mtu);
    EXPECT_EQ(back.queue_pair, address.queue_pair);
    EXPECT_EQ(back.qkey, address.qkey);
    EXPECT_EQ(back.lid, address.lid);
    EXPECT_EQ(back.gid, address.gid);
    EXPECT_EQ(back.route_header, address.route_header);
    EXPECT_EQ(back.partition_key, address.partition_key);
    EXPECT_EQ(back.packets_of_sender, address.packets_of_sender);
  }
}

TEST(VerbsAddress, RefusesOtherLengthsAndVersions) {
  PeerAddress bytes = encode(roce());
  bytes.length = 33;
  EXPECT_EQ(refusal(bytes), "a verbs address has 34 bytes, this one has 33");
  bytes.length = 0;
  EXPECT_FALSE(refusal(bytes).empty());
  bytes = encode(roce());
  bytes.bytes[0] = std::byte{1};
  EXPECT_EQ(refusal(bytes),
            "a verbs address of version 1 and fabric 3: this openlapi knows version 3 and fabrics 1 to 3");
}

TEST(VerbsAddress, RefusesNumbersThatNoTaskHas) {
  const auto refused = [](Address address, auto change, const char* text) {
    change(address);
    EXPECT_NE(refusal(encode(address)).find(text), std::string::npos) << refusal(encode(address));
  };
  refused(
      roce(), [](Address& a) { a.mtu = 1500; }, "MTU");
  refused(
      roce(), [](Address& a) { a.mtu = 512; }, "MTU");
  refused(
      roce(), [](Address& a) { a.queue_pair = 1; }, "queue pair");
  refused(
      roce(), [](Address& a) { a.queue_pair = 0xffffff; }, "queue pair");
  refused(
      roce(), [](Address& a) { a.qkey = 0x80000001; }, "Q_Key");
  refused(
      roce(), [](Address& a) { a.gid = {}; }, "GID");
  refused(
      roce(), [](Address& a) { a.gid[0] = 0xff; }, "GID");
  refused(
      roce(), [](Address& a) { a.lid = 4; }, "GID");
  refused(
      infiniband(), [](Address& a) { a.lid = 0xc001; }, "LID");
  refused(
      infiniband(), [](Address& a) { a.lid = 0, a.gid = {}; }, "neither");
  refused(
      demanding(), [](Address& a) { a.gid = {}; }, "flag");
  refused(
      roce(), [](Address& a) { a.route_header = true; }, "flag");
  refused(
      roce(), [](Address& a) { a.packets_of_sender = 0; }, "no room");
  PeerAddress bytes = encode(demanding());
  bytes.bytes[7] = std::byte{2};
  EXPECT_NE(refusal(bytes).find("flags that are unknown"), std::string::npos) << refusal(bytes);
}

TEST(VerbsAddress, RandomBytesAreRefusedOrSound) {
  std::mt19937 random(1);
  unsigned accepted = 0;
  for (int i = 0; i < 200'000; ++i) {
    PeerAddress bytes = encode(i % 2 == 0 ? roce() : infiniband());
    for (unsigned changes = random() % 4; changes != 0; --changes) {
      bytes.bytes[random() % kAddressLength] = static_cast<std::byte>(random());
    }
    Address address;
    std::string error;
    if (!decode(bytes, address, error)) {
      EXPECT_FALSE(error.empty());
      continue;
    }
    ++accepted;
    EXPECT_EQ(encode(address).bytes, bytes.bytes);
  }
  EXPECT_GT(accepted, 0u);
}

TEST(VerbsAddress, OnlyEqualFabricsReachEachOther) {
  std::string error;
  EXPECT_TRUE(compatible(roce(), roce(), error));
  EXPECT_TRUE(compatible(infiniband(), infiniband(), error));
  EXPECT_FALSE(compatible(roce(), infiniband(), error));
  EXPECT_NE(error.find("InfiniBand"), std::string::npos) << error;
  Address first = roce();
  first.fabric = Fabric::roce_v1;
  EXPECT_FALSE(compatible(roce(), first, error));
  EXPECT_NE(error.find("RoCE v1"), std::string::npos) << error;
  Address six = roce();
  six.gid = kIpv6;
  EXPECT_FALSE(compatible(roce(), six, error));
  EXPECT_NE(error.find("fd77:0:0:0:0:0:0:2"), std::string::npos) << error;
}

TEST(VerbsAddress, InfinibandNeedsARouteHeaderBetweenSubnets) {
  EXPECT_TRUE(needs_global_route(roce(), roce()));
  EXPECT_FALSE(needs_global_route(infiniband(), infiniband()));
  Address other = infiniband();
  other.gid[15] = 9;
  EXPECT_FALSE(needs_global_route(infiniband(), other)) << "another port of the subnet";
  other.gid[7] = 1;
  EXPECT_TRUE(needs_global_route(infiniband(), other));
  other = infiniband();
  other.lid = 0;
  EXPECT_TRUE(needs_global_route(infiniband(), other));
}

TEST(VerbsAddress, MembersOfOnePartitionReachEachOtherIfOneIsAFullMember) {
  const auto with = [](std::uint16_t key) {
    Address address = infiniband();
    address.partition_key = key;
    return address;
  };
  std::string error;
  EXPECT_TRUE(compatible(with(0x8001), with(0x8001), error)) << error;
  EXPECT_TRUE(compatible(with(0x8001), with(0x0001), error)) << error;
  EXPECT_TRUE(compatible(with(0x0001), with(0x8001), error)) << error;
  EXPECT_FALSE(compatible(with(0x0001), with(0x0001), error));
  EXPECT_NE(error.find("full member"), std::string::npos) << error;
  EXPECT_FALSE(compatible(with(0x8001), with(0x8002), error));
  EXPECT_NE(error.find("the peer's port has P_Key 0x8002, this one 0x8001"), std::string::npos) << error;
  EXPECT_NE(refusal(encode(with(0x8000))).find("P_Key"), std::string::npos) << refusal(encode(with(0x8000)));
}

TEST(VerbsAddress, APortThatDemandsARouteHeaderGetsItInBothDirections) {
  EXPECT_TRUE(needs_global_route(infiniband(), demanding()));
  EXPECT_TRUE(needs_global_route(demanding(), infiniband()));
  std::string error;
  EXPECT_TRUE(compatible(infiniband(), demanding(), error)) << error;
  EXPECT_EQ(next_lid(infiniband(), demanding()), demanding().lid);
}

// The LID in its address means nothing in this subnet.
TEST(VerbsAddress, APeerInAnotherSubnetIsReachedThroughAKnownRouterOnly) {
  Address far = infiniband();
  far.gid[7] = 1;
  std::string error;
  EXPECT_FALSE(compatible(infiniband(), far, error));
  EXPECT_NE(error.find("another InfiniBand subnet"), std::string::npos) << error;
  EXPECT_NE(error.find("LID of a router"), std::string::npos) << error;
  EXPECT_NE(error.find(to_text(far.gid)), std::string::npos) << error;
  EXPECT_EQ(next_lid(infiniband(), far), 0);
  far.gid = {0xfe, 0xc0, 0, 0, 0x2, 0x9, 0, 1, 1};
  EXPECT_TRUE(compatible(infiniband(), far, error)) << error;
  EXPECT_EQ(next_lid(infiniband(), far), 0x209);
  EXPECT_TRUE(needs_global_route(infiniband(), far));
  EXPECT_EQ(next_lid(far, far), far.lid) << "within its own subnet";
}

TEST(VerbsAddress, KindsOfGidsAreTold) {
  EXPECT_TRUE(is_ipv4(kIpv4));
  EXPECT_FALSE(is_ipv4(kIpv6));
  EXPECT_FALSE(is_ipv4(Gid{}));
  EXPECT_TRUE(same_kind(Fabric::roce_v2, kIpv6, kNode));
  EXPECT_FALSE(same_kind(Fabric::roce_v2, kIpv6, kIpv4));
  EXPECT_TRUE(same_kind(Fabric::infiniband, kIpv6, kIpv4));
  EXPECT_TRUE(is_link_local(kNode));
  EXPECT_FALSE(is_link_local(kIpv6));
  EXPECT_TRUE(is_zero(Gid{}));
  EXPECT_EQ(to_text(kIpv4), "::ffff:10.77.0.2");
}

}  // namespace
}  // namespace openlapi::verbs
