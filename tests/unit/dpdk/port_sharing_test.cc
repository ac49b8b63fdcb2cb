#include "nic/dpdk/port_sharing.h"

#include <gtest/gtest.h>

namespace openlapi::dpdk {
namespace {

bool shared(const char* device, const char* driver, const char* interface, bool isolated = true, bool given = false) {
  return is_shared(
      {.device = device, .driver = driver, .kernel_interface = interface, .isolated = isolated, .given = given});
}

// Its adapter is bound to a driver of the kernel's that only passes it on.
bool given_is_shared(const char* driver, const char* interface) {
  return shared("0000:3b:00.0", driver, interface, true, true);
}

TEST(PortSharing, AdaptersThatTheKernelHasAnInterfaceOn) {
  EXPECT_TRUE(shared("0000:3b:00.0", "mlx5_pci", "ens1"));
  EXPECT_TRUE(shared("0000:3b:00.0,dv_flow_en=1", "mlx5_pci", "ens1", false));
  EXPECT_TRUE(shared("0000:3b:00.0", "net_new", "ens1")) << "whatever its driver";
}

TEST(PortSharing, DriversThatAlwaysShare) {
  for (const char* driver : {"mlx5_pci", "net_mlx5", "mlx5_auxiliary", "net_mlx4", "net_mana"}) {
    EXPECT_TRUE(shared("0000:3b:00.0", driver, "")) << driver << ": its interface is in another namespace";
  }
}

TEST(PortSharing, AdaptersThatWereGivenAway) {
  for (const char* driver : {"net_ixgbe", "net_sfc_efx", "net_virtio", "net_ice"}) {
    EXPECT_FALSE(given_is_shared(driver, "")) << driver;
    EXPECT_TRUE(given_is_shared(driver, "ens1")) << driver;
  }
  EXPECT_TRUE(given_is_shared("mlx5_pci", "")) << "it always drives beside the kernel";
}

TEST(PortSharing, PortsOfWhichNothingIsKnown) {
  for (const char* driver : {"net_ixgbe", "net_new", "net_netvsc", ""}) {
    EXPECT_TRUE(shared("0000:3b:00.0", driver, "")) << driver << ", and nobody has given it to programs";
    EXPECT_TRUE(shared("fslmc:dpni.1", driver, "", false)) << driver;
  }
  EXPECT_TRUE(shared("net_new0,iface=eth0", "net_new", "", false));
}

TEST(PortSharing, VirtualDevices) {
  EXPECT_FALSE(shared("net_af_packet0,iface=eth0", "net_af_packet", "eth0", false)) << "the kernel gets a copy";
  EXPECT_FALSE(shared("net_af_xdp0,iface=eth0", "net_af_xdp", "eth0", false)) << "it was named to be taken";
  EXPECT_FALSE(shared("net_memif0,role=server", "net_memif", "", false));
  EXPECT_FALSE(shared("net_ring0", "net_ring", "", false));
  EXPECT_FALSE(shared("net_virtio_user0,path=/run/vhost", "net_virtio_user", "", false));
  EXPECT_FALSE(shared("net_tap0,iface=dtap0", "net_tap", "dtap0")) << "an interface of the driver's own";
  EXPECT_TRUE(shared("net_tap0,iface=dtap0,remote=eth0", "net_tap", "dtap0"));
  EXPECT_TRUE(shared("net_failsafe0,dev(0000:3b:00.0)", "net_failsafe", "")) << "what is below can be isolated";
  EXPECT_FALSE(shared("net_bonding0,slave=0000:3b:00.0", "net_bonding", "", false));
}

TEST(PortSharing, ARefusalSaysWhichPortWhatAndWhatToDo) {
  const PortFacts facts{
      .device = "0000:3b:00.0,dv_flow_en=1", .driver = "mlx5_pci", .kernel_interface = "ens1", .isolated = true};
  EXPECT_EQ(described(facts), "DPDK port 0000:3b:00.0 (driver mlx5_pci, the kernel's interface ens1)");
  const std::string text = refusal(facts, "refuses the flow rule", "File exists");
  EXPECT_EQ(text.find("DPDK port 0000:3b:00.0 (driver mlx5_pci, the kernel's interface ens1) refuses the flow rule: "
                      "File exists. The kernel uses this adapter as well"),
            0u);
  for (const char* way : {"MP_EUIDEVICE", "vfio-pci", "CAP_NET_RAW", "OPENLAPI_MODULES=verbs", "MP_EUILIB=ip"}) {
    EXPECT_NE(text.find(way), std::string::npos) << way;
  }
}

}  // namespace
}  // namespace openlapi::dpdk
