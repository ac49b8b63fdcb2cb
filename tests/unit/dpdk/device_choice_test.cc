#include <gtest/gtest.h>

#include "nic/dpdk/dpdk_module.h"
#include "nic/modules/dpdk_announcement.h"

namespace openlapi::dpdk {
namespace {

using Names = std::vector<std::string>;

const std::vector<PciAdapter> kAdapters = {{"0000:00:03.0", "virtio-pci", "eth0"},
                                           {"0000:3b:00.0", "mlx5_core", "ens1"},
                                           {"0000:af:00.0", "vfio-pci", ""},
                                           {"0000:af:00.1", "vfio-pci", ""}};

struct Preference {
  std::string device{};
  std::string arguments{};
  std::uint32_t packet_size = 0;
  std::uint32_t instance = 1;
  std::uint32_t task = 0;
  std::uint32_t local_number = 0;
  std::uint32_t local_tasks = 1;
  std::string address{};
  std::string gateway{};
};

ModuleRequest request_of(const Preference& preference) {
  ModuleRequest request;
  request.device = preference.device;
  request.variables[std::string(kArgumentsVariable)] = preference.arguments;
  request.variables[std::string(kAddressVariable)] = preference.address;
  request.variables[std::string(kGatewayVariable)] = preference.gateway;
  request.packet_size = preference.packet_size;
  request.instance = preference.instance;
  request.task = preference.task;
  request.local_number = preference.local_number;
  request.local_tasks = preference.local_tasks;
  return request;
}

DpdkConfig chosen(const Preference& preference, const std::vector<PciAdapter>& adapters = kAdapters) {
  DpdkConfig config;
  std::string reason;
  EXPECT_TRUE(choose_devices(request_of(preference), adapters, config, reason)) << preference.device << ": " << reason;
  return config;
}

std::string refused(const Preference& preference, const std::vector<PciAdapter>& adapters = kAdapters) {
  DpdkConfig config;
  std::string reason;
  EXPECT_FALSE(choose_devices(request_of(preference), adapters, config, reason)) << preference.device;
  return reason;
}

TEST(DeviceChoice, NamedDevices) {
  EXPECT_EQ(chosen({.device = "3b:00.0"}).devices, Names{"0000:3b:00.0"});
  EXPECT_EQ(chosen({.device = "af:00.0,mac_queues=1"}).devices, Names{"0000:af:00.0,mac_queues=1"});
  EXPECT_EQ(chosen({.device = " net_memif1,id=0  net_memif2,id=1"}).devices,
            (Names{"net_memif1,id=0", "net_memif2,id=1"}));
  EXPECT_EQ(chosen({.device = "ens1"}).devices, Names{"0000:3b:00.0"}) << "a driver that DPDK shares with the kernel";
}

TEST(DeviceChoice, WhatIsNoDeviceIsExplained) {
  EXPECT_NE(refused({.device = "rxe0:1"}).find("'rxe0:1' is no DPDK device: allowed is a PCI address"),
            std::string::npos);
  EXPECT_NE(refused({.device = "net_memif0 rxe0"}).find("'rxe0' is no DPDK device"), std::string::npos);
  const std::string eth0 = refused({.device = "eth0"});
  EXPECT_NE(eth0.find("virtio-pci (0000:00:03.0)"), std::string::npos) << eth0;
  EXPECT_NE(eth0.find("net_af_packet0,iface=eth0"), std::string::npos) << eth0;
  const std::string loopback = refused({.device = "lo"});
  EXPECT_NE(loopback.find("'lo' is driven by the kernel: bind"), std::string::npos) << loopback;
}

TEST(DeviceChoice, WithoutANameAllThatTheArgumentsMake) {
  const DpdkConfig config =
      chosen({.arguments = "-m 64 --vdev=net_memif1,role=server --vdev net_memif2,id=0 -a 3b:00.0,x=1"});
  EXPECT_EQ(config.devices, (Names{"net_memif1", "net_memif2", "3b:00.0"}));
  EXPECT_EQ(config.eal_arguments, "-m 64 --vdev=net_memif1,role=server --vdev net_memif2,id=0 -a 3b:00.0,x=1");
}

TEST(DeviceChoice, OtherwiseEveryContextOfTheNodeGetsAnAdapterOfItsOwn) {
  EXPECT_EQ(chosen({.local_number = 0, .local_tasks = 2}).devices, Names{"0000:af:00.0"});
  EXPECT_EQ(chosen({.local_number = 1, .local_tasks = 2}).devices, Names{"0000:af:00.1"});
  EXPECT_EQ(chosen({.instance = 2}).devices, Names{"0000:af:00.1"});
  EXPECT_NE(refused({.instance = 2, .local_number = 0, .local_tasks = 2}).find("2 adapters were given to DPDK"),
            std::string::npos);
  EXPECT_NE(refused({}, {}).find("neither MP_EUIDEVICE nor OPENLAPI_DPDK_ARGUMENTS names a device"), std::string::npos);
}

TEST(DeviceChoice, TheMtuIsTheLeastOfAll) {
  EXPECT_EQ(chosen({.device = "3b:00.0"}).mtu, 0u) << "the driver's";
  EXPECT_EQ(chosen({.device = "3b:00.0", .packet_size = 8192}).mtu, 8192 + kHeaderInDatagram);
  EXPECT_EQ(chosen({.device = "3b:00.0", .packet_size = 65507}).mtu, kLargestMtu);
  EXPECT_EQ(chosen({.device = "net_memif0,bsize=9216"}).mtu, 9216u - 142);
  EXPECT_EQ(chosen({.device = "net_memif0,bsize=9216", .packet_size = 1024}).mtu, 1024 + kHeaderInDatagram);
  EXPECT_EQ(chosen({.device = "net_memif0,bsize=9216 net_memif1,bsize=4096"}).mtu, 4096u - 142);
  EXPECT_EQ(chosen({.arguments = "--vdev=net_memif0,bsize=4096"}).mtu, 4096u - 142);
  EXPECT_EQ(chosen({.device = "net_af_packet0,iface=lo"}).mtu, kLargestMtu) << "of 65536, which the loopback has";
  EXPECT_EQ(chosen({.device = "net_af_packet0,iface=lo,framesz=4096"}).mtu, 4096u - 142);
  EXPECT_EQ(chosen({.arguments = "--vdev=net_af_packet0,iface=lo"}).mtu, 2048u - 142) << "its ring is made already";
  EXPECT_EQ(chosen({.device = "net_af_xdp0,iface=lo"}).mtu, 3498u);
}

TEST(DeviceChoice, ASharedAdapterHasTheMtuOfTheKernelsInterface) {
  const std::vector<PciAdapter> adapters = {{"0000:3b:00.0", "mlx5_core", "lo"}};  // of 65536 bytes
  EXPECT_EQ(chosen({.device = "3b:00.0"}, adapters).mtu, kLargestMtu);
  EXPECT_EQ(chosen({.device = "lo"}, adapters).mtu, kLargestMtu);
  EXPECT_EQ(chosen({.arguments = "-a 3b:00.0,x=1"}, adapters).mtu, kLargestMtu);
  EXPECT_EQ(chosen({.device = "3b:00.0", .packet_size = 1024}, adapters).mtu, 1024 + kHeaderInDatagram);
}

TEST(DeviceChoice, ASecondContextOverMemif) {
  const std::string first = "--vdev=net_memif1,id=0,bsize=4096";
  EXPECT_EQ(chosen({.arguments = first, .instance = 2}).devices, Names{"net_memif1_context2,bsize=4096,id=65536"});
  EXPECT_EQ(chosen({.arguments = first, .instance = 2}).mtu, 4096u - 142);
  EXPECT_EQ(chosen({.device = "net_af_packet0,iface=lo", .instance = 2}).devices, Names{"net_af_packet0,iface=lo"});
}

TEST(DeviceChoice, OnPairsTheTasksNumberIsTheAddress) {
  EXPECT_EQ(chosen({.device = "net_memif0", .task = 5}).address, 0xa9fe0105u);
  EXPECT_EQ(chosen({.device = "net_memif0", .task = 65023}).address, 0xa9fefeffu) << "the last that is link-local";
  EXPECT_EQ(chosen({.device = "net_memif0 3b:00.0", .task = 5}).address, 0u);
}

TEST(DeviceChoice, AddressesAreThoseOfTheDeviceOrOfAll) {
  const auto of = [](const char* device, const char* address, const char* gateway = "", std::uint32_t task = 0) {
    return chosen({.device = device, .task = task, .address = address, .gateway = gateway});
  };
  constexpr const char* kTwo = "10.0.0.5/24 3b:00.0=10.1.0.5/16";
  EXPECT_EQ(of("af:00.0", kTwo).address, 0x0a000005u);
  EXPECT_EQ(of("af:00.0", kTwo).network.bits, 24u);
  EXPECT_EQ(of("af:00.0", kTwo).network.gateway, 0u);
  EXPECT_EQ(of("3b:00.0,x=1", kTwo).address, 0x0a010005u);
  EXPECT_EQ(of("ens1", "10.0.0.5/24 ens1=10.1.0.5/16").address, 0x0a010005u) << "by its interface";
  EXPECT_EQ(of("net_af_packet0,iface=lo", "10.0.0.5/24 net_af_packet0=10.1.0.5/16").address, 0x0a010005u);
  EXPECT_EQ(of("net_af_packet0,iface=lo", "10.0.0.5/24 lo=10.1.0.5/16").address, 0x0a010005u);
  EXPECT_EQ(of("af:00.0", "3b:00.0=10.1.0.5/16").address, 0u) << "nothing is said of it";
  EXPECT_EQ(of("af:00.0", kTwo, "10.0.0.1 3b:00.0=10.1.0.1").network.gateway, 0x0a000001u);
  EXPECT_EQ(of("3b:00.0", kTwo, "10.0.0.1 3b:00.0=10.1.0.1").network.gateway, 0x0a010001u);
  EXPECT_EQ(of("af:00.0", "10.0.0.16+/24", "", 7).address, 0x0a000017u);
  EXPECT_TRUE(of("ens1", "interface").network.of_interface);
  EXPECT_EQ(of("net_memif0", "10.0.0.5/24", "", 5).address, 0xa9fe0105u) << "a network of two";
}

TEST(DeviceChoice, AnAddressFindsADeviceThatTheArgumentsMake) {
  const auto of = [](const char* arguments, const char* address) {
    return chosen({.arguments = arguments, .address = address}).address;
  };
  EXPECT_EQ(of("--vdev=net_af_packet0,iface=lo", "lo=10.1.0.5/16"), 0x0a010005u) << "by its interface";
  EXPECT_EQ(of("--vdev=net_af_packet0,iface=lo", "net_af_packet0=10.1.0.5/16"), 0x0a010005u);
  EXPECT_EQ(of("-a 3b:00.0,x=1", "3b:00.0=10.1.0.5/16"), 0x0a010005u);
  EXPECT_EQ(of("-a 3b:00.0,x=1", "0000:3b:00.0=10.1.0.5/16"), 0x0a010005u);
  EXPECT_EQ(of("-a 3b:00.0,x=1", "ens1=10.1.0.5/16"), 0x0a010005u);
  const Preference named{
      .device = "net_af_packet0", .arguments = "--vdev=net_af_packet0,iface=lo", .address = "lo=10.1.0.5/16"};
  EXPECT_EQ(chosen(named).address, 0x0a010005u);
}

TEST(DeviceChoice, AnAdapterThatThisTaskMayNotUseIsLeftOut) {
  std::vector<PciAdapter> adapters = kAdapters;
  adapters[2].lacks = "no right";
  EXPECT_EQ(chosen({}, adapters).devices, Names{"0000:af:00.1"});
  EXPECT_EQ(refused({.device = "af:00.0,x=1"}, adapters), "af:00.0,x=1: no right");
  adapters[1].lacks = adapters[3].lacks = "nor there";
  EXPECT_EQ(refused({.device = "ens1"}, adapters), "ens1: nor there");
  EXPECT_EQ(refused({}, adapters), "of the adapters that are bound to DPDK none can be used; 0000:af:00.0: no right");
}

TEST(DeviceChoice, FramesAreMarkedAsTheVariablesSay) {
  ModuleRequest request = request_of({.device = "af:00.0"});
  request.variables[std::string(kVlanVariable)] = "5:3";
  request.variables[std::string(kDscpVariable)] = "26";
  DpdkConfig config;
  std::string reason;
  ASSERT_TRUE(choose_devices(request, kAdapters, config, reason)) << reason;
  EXPECT_EQ(config.marks.tag, 3 << 13 | 5);
  EXPECT_EQ(config.marks.vlan(), 5);
  EXPECT_EQ(config.marks.dscp, 26);
  EXPECT_EQ(chosen({.device = "af:00.0"}).marks.tag, std::nullopt);
  EXPECT_EQ(chosen({.device = "af:00.0"}).marks.dscp, 0);
}

TEST(DeviceChoice, AnAddressOutsideOfItsNetworkIsRefused) {
  const std::string reason = refused({.device = "af:00.0", .task = 250, .address = "10.0.0.16+/24"});
  EXPECT_EQ(reason,
            "OPENLAPI_DPDK_ADDRESS=10.0.0.16+/24: for task 250 that is 10.0.1.10, which is no adapter's in this "
            "network of 24 bits");
  EXPECT_NE(refused({.device = "af:00.0", .task = 239, .address = "10.0.0.16+/24"}), "") << "10.0.0.255 is for all";
  EXPECT_NE(refused({.device = "af:00.0", .address = "10.0.0.0+/24"}), "") << "10.0.0.0 is the network";
  EXPECT_EQ(refused({.device = "af:00.0", .address = "10.0.0.5/24", .gateway = "10.0.0.5"}),
            "OPENLAPI_DPDK_GATEWAY=10.0.0.5: that is the address of this task's 0000:af:00.0");
}

TEST(DeviceChoice, ARouterIsInTheNetwork) {
  const auto of = [](const char* address, const char* gateway) {
    return Preference{.device = "af:00.0", .address = address, .gateway = gateway};
  };
  EXPECT_EQ(refused(of("10.0.0.5/24", "10.0.1.1")),
            "OPENLAPI_DPDK_GATEWAY=10.0.1.1: that is no adapter's in the network of this task's 0000:af:00.0, "
            "10.0.0.5/24");
  EXPECT_NE(refused(of("10.0.0.5/24", "10.0.0.255")), "") << "that is for all";
  EXPECT_EQ(chosen(of("10.0.0.5/32", "10.0.1.1")).network.gateway, 0x0a000101u) << "as clouds have it";
  EXPECT_EQ(chosen(of("10.0.0.4/31", "169.254.1.1")).network.gateway, 0xa9fe0101u);
  EXPECT_EQ(refused(of("", "10.0.0.1")),
            "OPENLAPI_DPDK_GATEWAY=10.0.0.1: it counts with OPENLAPI_DPDK_ADDRESS alone, which is not set");
  EXPECT_EQ(chosen(of("3b:00.0=10.1.0.5/16", "10.1.0.1")).network.gateway, 0u) << "it may be another context's";
}

}  // namespace
}  // namespace openlapi::dpdk
