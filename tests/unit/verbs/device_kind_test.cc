#include "nic/verbs/device_kind.h"

#include <gtest/gtest.h>

#include <cstring>

namespace openlapi::verbs {
namespace {

bool software_at(const char* place, std::uint32_t vendor) {
  ibv_device device{};
  std::strcpy(device.ibdev_path, place);
  ibv_device_attr attributes{};
  attributes.vendor_id = vendor;
  return is_software(device, attributes);
}

TEST(DeviceKind, HardwareLiesBelowABusAndHasAVendor) {
  EXPECT_FALSE(software_at("/sys/devices", 0x02c9));
  EXPECT_FALSE(software_at("/sys/there/is/no/such/device", 0x02c9));
}

TEST(DeviceKind, SoftwareLiesAmongTheVirtualDevices) { EXPECT_TRUE(software_at("/sys/devices/virtual/net", 0x02c9)); }

// As on kernels before 2021, whose soft-RoCE lies below the network interface's hardware.
TEST(DeviceKind, SoftwareHasNoVendor) {
  EXPECT_TRUE(software_at("/sys/devices", 0xffffff));
  EXPECT_TRUE(software_at("/sys/devices", 0));
}

}  // namespace
}  // namespace openlapi::verbs
