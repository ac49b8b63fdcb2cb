#include "nic/modules/dpdk_variables.h"

#include <gtest/gtest.h>

namespace openlapi::dpdk {
namespace {

TEST(DpdkVariables, OneValueForADeviceOrForAll) {
  const std::vector<OfDevice> words = values_of_devices(" 10.0.0.5/24  0000:3b:00.0=10.1.0.5/16 ");
  ASSERT_EQ(words.size(), 2u);
  EXPECT_EQ(words[0].device, "");
  EXPECT_EQ(words[0].value, "10.0.0.5/24");
  EXPECT_EQ(words[1].device, "0000:3b:00.0");
  EXPECT_EQ(words[1].value, "10.1.0.5/16");
}

TEST(DpdkVariables, OwnAddresses) {
  const auto plain = own_address("10.0.0.5/24");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->address, 0x0a000005u);
  EXPECT_EQ(plain->bits, 24u);
  EXPECT_FALSE(plain->plus_task || plain->of_interface);
  const auto more = own_address("10.0.0.0+/24");
  ASSERT_TRUE(more);
  EXPECT_TRUE(more->plus_task);
  ASSERT_TRUE(own_address("interface"));
  EXPECT_TRUE(own_address("interface")->of_interface);
  EXPECT_TRUE(own_address("10.0.0.5/32"));
  EXPECT_TRUE(own_address("10.0.0.0/31"));
}

TEST(DpdkVariables, WhatIsNoMachinesAddressIsRefused) {
  for (const char* wrong : {"", "10.0.0.5", "10.0.0.5/0", "10.0.0.5/33", "10.0.0/24", "10.0.0.0/24", "10.0.0.255/24",
                            "127.0.0.1/8", "224.0.0.1/4", "0.0.0.1/8", "10.0.0.5/24+", "Interface", "eth0"}) {
    EXPECT_FALSE(own_address(wrong)) << wrong;
    EXPECT_FALSE(are_own_addresses(wrong)) << wrong;
  }
  EXPECT_TRUE(are_own_addresses("interface 3b:00.0=10.0.0.5/24"));
  EXPECT_FALSE(are_own_addresses("interface 3b:00.0=10.0.0.5"));
  EXPECT_TRUE(are_gateways("10.0.0.1 ens1=10.1.0.1"));
  for (const char* wrong : {"", "10.0.0.1/24", "ens1=", "255.255.255.255"}) EXPECT_FALSE(are_gateways(wrong)) << wrong;
}

TEST(DpdkVariables, VlansAndPriorities) {
  EXPECT_EQ(vlan_tag("5"), 5);
  EXPECT_EQ(vlan_tag("4094:7"), 7 << 13 | 4094);
  EXPECT_EQ(vlan_tag("0:3"), 3 << 13) << "the priority alone";
  EXPECT_EQ(vlan_tag("0:0"), 0) << "a tag all the same";
  EXPECT_EQ(vlan_tag("0"), std::nullopt) << "no tag";
  EXPECT_EQ(vlan_tag(""), std::nullopt);
  EXPECT_TRUE(is_vlan("0") && is_vlan("5") && is_vlan("0:3"));
  for (const char* wrong : {"", "4095", "5:8", "5:", ":3", "-1", "0x5", "5:3:1"}) EXPECT_FALSE(is_vlan(wrong)) << wrong;
}

TEST(DpdkVariables, Networks) {
  EXPECT_TRUE(same_network(0x0a000005, 0x0a0000fe, 24));
  EXPECT_FALSE(same_network(0x0a000005, 0x0a000105, 24));
  EXPECT_FALSE(same_network(0x0a000004, 0x0a000005, 32));
  EXPECT_TRUE(same_network(0x0a000004, 0xc0000005, 0));
}

}  // namespace
}  // namespace openlapi::dpdk
