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

bool in_order(std::uint32_t vendor, std::uint32_t part, const char* place = "/sys/devices") {
  ibv_device device{};
  std::strcpy(device.ibdev_path, place);
  ibv_device_attr attributes{};
  attributes.vendor_id = vendor;
  attributes.vendor_part_id = part;
  return writes_in_order(device, attributes);
}

TEST(DeviceKind, WritesOfMellanoxsAdaptersComeInOrder) {
  for (const std::uint32_t part : {0x1003u, 0x1013u, 0x101bu, 0x1021u, 0xa2d2u, 0xa2dcu})
    EXPECT_TRUE(in_order(0x02c9, part));
  for (const std::uint32_t part : {0u, 0x5a44u, 0x6274u, 0x634au}) EXPECT_FALSE(in_order(0x02c9, part)) << "older ones";
}

TEST(DeviceKind, OfOthersThatIsNotKnown) {
  EXPECT_FALSE(in_order(0x8086, 0x1013));
  EXPECT_FALSE(in_order(0xffffff, 0x1013));
  EXPECT_FALSE(in_order(0x02c9, 0x1013, "/sys/devices/virtual/net"));
}

}  // namespace
}  // namespace openlapi::verbs
