#include "nic/dpdk/device_preference.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace openlapi::dpdk {
namespace {

using Words = std::vector<std::string>;

bool has(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

const EnvironmentFacts kNoHuge{
    .huge_pages_suffice = false, .needed_bytes = 10 << 20, .processor = 3, .unique_name = "u"};
const EnvironmentFacts kHuge{.huge_pages_suffice = true, .needed_bytes = 10 << 20, .processor = 0, .unique_name = "u"};

TEST(DevicePreference, NamesAndArguments) {
  EXPECT_EQ(name_of("net_memif0,role=server,id=0"), "net_memif0");
  EXPECT_EQ(name_of("0000:3b:00.0"), "0000:3b:00.0");
  EXPECT_TRUE(is_virtual("net_tap0"));
  EXPECT_FALSE(is_virtual("0000:3b:00.0"));
  EXPECT_TRUE(has_argument("net_memif0,role=server,bsize=9", "bsize"));
  EXPECT_FALSE(has_argument("net_memif0,role=server", "bsize"));
  EXPECT_FALSE(has_argument("net_memif0,rolex=server", "role"));
  EXPECT_TRUE(is_memif_client("role=client,id=0"));
  EXPECT_TRUE(is_memif_client("id=0")) << "the driver's rule";
  EXPECT_FALSE(is_memif_client("role=server"));
}

TEST(DevicePreference, LongFramesGetRoomUnlessTheUserSaysIt) {
  EXPECT_EQ(completed("net_memif0,id=0", 1500), "net_memif0,id=0");
  EXPECT_EQ(completed("net_memif0,id=0", 9000), "net_memif0,id=0,bsize=9216");
  EXPECT_EQ(completed("net_memif0,bsize=9728", 9000), "net_memif0,bsize=9728");
  EXPECT_EQ(completed("net_af_packet0,iface=a", 9000), "net_af_packet0,iface=a,framesz=9216,blocksz=36864");
  EXPECT_EQ(completed("0000:3b:00.0", 9000), "0000:3b:00.0");
}

TEST(DevicePreference, TheMtuOfAPortIsWithinWhatDriverAndKernelHave) {
  EXPECT_EQ(mtu_of_port({}), 1500u);
  EXPECT_EQ(mtu_of_port({.wanted = 9000}), 9000u);
  EXPECT_EQ(mtu_of_port({.wanted = 9000, .most = 4096}), 4096u);
  EXPECT_EQ(mtu_of_port({.wanted = 640, .least = 1280}), 1280u);
  EXPECT_EQ(mtu_of_port({.wanted = 9000, .kernel = 1500}), 1500u) << "whose interface is not changed";
  EXPECT_EQ(mtu_of_port({.kernel = 1400}), 1400u);
  EXPECT_EQ(mtu_of_port({.wanted = 1000, .kernel = 9000}), 1000u);
}

TEST(DevicePreference, OneQueueOfMlx5InlinesShortFramesUnlessTheUserSaysOtherwise) {
  EXPECT_EQ(completed("0000:3b:00.0", 1500, "mlx5_core"), "0000:3b:00.0,txqs_min_inline=0");
  EXPECT_EQ(completed("0000:3b:00.0,dv_flow_en=1", 9000, "mlx5_core"), "0000:3b:00.0,dv_flow_en=1,txqs_min_inline=0");
  EXPECT_EQ(completed("0000:3b:00.0,txqs_min_inline=8", 1500, "mlx5_core"), "0000:3b:00.0,txqs_min_inline=8");
  EXPECT_EQ(completed("0000:af:00.0", 1500, "vfio-pci"), "0000:af:00.0");
}

TEST(DevicePreference, ArgumentsOfADevice) {
  EXPECT_EQ(argument_of("net_af_packet0,iface=eth0,framesz=9216", "iface"), "eth0");
  EXPECT_EQ(argument_of("net_af_packet0,iface=eth0,framesz=9216", "framesz"), "9216");
  EXPECT_EQ(argument_of("net_af_packet0,xiface=eth0", "iface"), "");
  EXPECT_EQ(argument_of("net_af_packet0", "iface"), "");
}

TEST(DevicePreference, DevicesAmongArguments) {
  EXPECT_EQ(named_devices({"-m", "64", "--vdev=net_memif1,id=0", "--vdev", "net_tap0", "-a", "3b:00.0",
                           "--allow=3c:00.0", "--vdevs=no", "--vdev"}),
            (Words{"net_memif1,id=0", "net_tap0", "3b:00.0", "3c:00.0"}));
  EXPECT_TRUE(named_devices({"--no-pci", "-b", "3b:00.0"}).empty());
}

TEST(DevicePreference, FurtherContextsHaveFurtherMemifs) {
  EXPECT_EQ(memif_of_instance("net_memif1,role=client,id=3,socket=a", 1), "net_memif1,role=client,id=3,socket=a");
  EXPECT_EQ(memif_of_instance("net_memif1,role=client,id=3,socket=a", 2),
            "net_memif1_context2,role=client,socket=a,id=65539");
  EXPECT_EQ(memif_of_instance("net_memif1,role=server", 3), "net_memif1_context3,role=server,id=131072");
}

TEST(DevicePreference, WhatADeviceCarries) {
  EXPECT_EQ(mtu_of("net_memif0,id=0", 0, true), 0u);
  EXPECT_EQ(mtu_of("net_memif0,bsize=100", 0, true), 0u);
  EXPECT_EQ(mtu_of("net_af_packet0,iface=a", 9000, false), 9000u);
  EXPECT_EQ(mtu_of("net_af_packet0,iface=a", 9000, true), 1906u);
  EXPECT_EQ(mtu_of("net_af_packet0,iface=a,framesz=9216", 9000, true), 9000u);
  EXPECT_EQ(mtu_of("net_af_packet0,iface=a,framesz=9216", 1500, true), 1500u);
  EXPECT_EQ(mtu_of("0000:3b:00.0", 0, false), 0u);
}

TEST(DevicePreference, HugePagesIfThereAreEnough) {
  const Words huge = eal_arguments({}, kHuge);
  EXPECT_TRUE(has(huge, "--in-memory"));
  EXPECT_FALSE(has(huge, "--no-huge")) << "they exclude each other";
  const Words ordinary = eal_arguments({}, kNoHuge);
  EXPECT_TRUE(has(ordinary, "--no-huge") && has(ordinary, "--no-shconf") && has(ordinary, "-m"));
  EXPECT_FALSE(has(ordinary, "--in-memory"));
  EXPECT_TRUE(has(ordinary, "--lcores=0@3"));
  EXPECT_TRUE(has(ordinary, "--file-prefix=u"));
}

TEST(DevicePreference, WhatTheUserSaysIsNotSaidAgain) {
  const Words own = eal_arguments({"--in-memory", "-m", "40", "--no-pci", "-l", "1", "--file-prefix", "x"}, kNoHuge);
  EXPECT_FALSE(has(own, "--no-huge") || has(own, "-a") || has(own, "--file-prefix=u") || has(own, "--lcores=0@3"));
  EXPECT_EQ(std::count(own.begin(), own.end(), "-m"), 1);
  const Words shared = eal_arguments({"--no-huge"}, kHuge);
  EXPECT_TRUE(has(shared, "--no-shconf") && has(shared, "-m"));
}

TEST(DevicePreference, TheUserMayDecideThePages) {
  EXPECT_TRUE(decides_pages({"-a", "3b:00.0", "--no-huge"}));
  EXPECT_TRUE(decides_pages({"--huge-dir=/mnt/huge"}));
  EXPECT_TRUE(decides_pages({"--in-memory"}));
  EXPECT_FALSE(decides_pages({}));
  EXPECT_FALSE(decides_pages({"-m", "64"})) << "how much, of either";
}

TEST(DevicePreference, Words) {
  EXPECT_EQ(split_words("  -a  b\tc "), (Words{"-a", "b", "c"}));
  EXPECT_TRUE(split_words(" ").empty());
}

}  // namespace
}  // namespace openlapi::dpdk
