#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

#include "nic/dpdk/dpdk_module.h"
#include "nic/dpdk/network_interface.h"
#include "nic/modules/dpdk_announcement.h"

namespace openlapi::dpdk {
namespace {

const std::vector<PciAdapter> kAdapters = {{"0000:00:03.0", "virtio-pci", "eth0"},
                                           {"0000:3b:00.0", "mlx5_core", "ens1"},
                                           {"0000:af:00.0", "vfio-pci", ""},
                                           {"0000:af:00.1", "vfio-pci", ""},
                                           {"0000:d8:00.0", "vfio-pci", ""}};

std::vector<std::string> eligible(const ModuleRequest& request) {
  std::vector<std::string> names;
  for (const ModuleDevice& device : list_devices(request, kAdapters)) {
    EXPECT_TRUE(device.exclusive) << device.name;
    if (device.eligible) names.push_back(device.name);
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(DeviceList, HasTheAdaptersOfTheMachine) {
  const std::vector<ModuleDevice> devices = list_devices({}, kAdapters);
  ASSERT_EQ(devices.size(), 5u);
  EXPECT_NE(devices[0].reason.find("bind it to vfio-pci"), std::string::npos);
  EXPECT_EQ(devices[1].reason, "");
  EXPECT_EQ(devices[1].kernel_name, "ens1");
  EXPECT_TRUE(devices[2].chosen && !devices[3].chosen);
  EXPECT_EQ(eligible({}), (Names{"0000:af:00.0", "0000:af:00.1", "0000:d8:00.0"}));
}

TEST(DeviceList, EachTaskOfTheNodeHasItsOwnAdapters) {
  ModuleRequest request;
  request.local_tasks = 2;
  EXPECT_EQ(eligible(request), (Names{"0000:af:00.0", "0000:d8:00.0"}));
  request.local_number = 1;
  EXPECT_EQ(eligible(request), Names{"0000:af:00.1"});
}

TEST(DeviceList, HasWhatTheArgumentsMakeInstead) {
  ModuleRequest request;
  request.variables[std::string(kArgumentsVariable)] =
      "--vdev=net_af_packet0,iface=nowhere --vdev net_null1 -a 3b:00.0";
  const bool as_root = packet_sockets_allowed();
  EXPECT_EQ(eligible(request),
            as_root ? (Names{"net_af_packet0", "net_null1", "3b:00.0"}) : (Names{"net_null1", "3b:00.0"}));
  EXPECT_EQ(list_devices(request, kAdapters)[2].kernel_name, "ens1");
  EXPECT_EQ(list_devices(request, kAdapters)[0].kernel_name, "nowhere");
}

TEST(DeviceList, HasAllOfMemifAsOneDevice) {
  ModuleRequest request;
  request.variables[std::string(kArgumentsVariable)] =
      "--vdev=net_memif1,role=server --vdev=net_null0 --vdev=net_memif2,id=1";
  EXPECT_EQ(eligible(request), (Names{"net_memif1 net_memif2", "net_null0"}));
}

TEST(DeviceList, WhatThisTaskMayNotUseIsNotUsable) {
  std::vector<PciAdapter> adapters = kAdapters;
  adapters[1].lacks = adapters[2].lacks = "no right";
  const std::vector<ModuleDevice> devices = list_devices({}, adapters);
  EXPECT_EQ(devices[1].reason, "no right");
  EXPECT_EQ(devices[2].reason, "no right");
  EXPECT_FALSE(devices[2].eligible || devices[2].chosen);
  EXPECT_TRUE(devices[3].eligible && devices[3].chosen);
}

// The rights of a thread are its own.
TEST(DeviceList, WithoutTheRightForPacketSocketsAfPacketIsNotUsable) {
  std::thread([] {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct rights[2]{};
    ASSERT_EQ(syscall(SYS_capset, &header, rights), 0);
    ASSERT_FALSE(packet_sockets_allowed());
    ModuleRequest request;
    request.variables[std::string(kArgumentsVariable)] = "--vdev=net_af_packet0,iface=lo --vdev net_null1";
    EXPECT_EQ(eligible(request), Names{"net_null1"});
    EXPECT_EQ(list_devices(request, kAdapters)[0].reason, kNoPacketSockets);
    request.device = "net_af_packet0,iface=lo";
    DpdkConfig config;
    std::string reason;
    EXPECT_FALSE(choose_devices(request, kAdapters, config, reason));
    EXPECT_EQ(reason, std::string("net_af_packet0: ") + kNoPacketSockets);
  }).join();
}

}  // namespace
}  // namespace openlapi::dpdk
