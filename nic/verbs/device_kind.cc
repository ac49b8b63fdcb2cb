#include "nic/verbs/device_kind.h"

#include <filesystem>
#include <string>
#include <system_error>

namespace openlapi::verbs {

// Its place in sysfs tells. On kernels before 2021 soft-RoCE lies there below the hardware of its network interface;
// but it has a number that is no vendor's.
bool is_software(const ibv_device& device, const ibv_device_attr& attributes) {
  if (attributes.vendor_id == 0 || attributes.vendor_id == 0xffffff) return true;
  std::error_code missing;
  const std::string place = std::filesystem::canonical(device.ibdev_path, missing);
  return !missing && place.starts_with("/sys/devices/virtual/");
}

// Numbers of PCI devices from ConnectX-3 on, and of BlueField.
bool writes_in_order(const ibv_device& device, const ibv_device_attr& attributes) {
  constexpr std::uint32_t kMellanox = 0x02c9;
  const std::uint32_t part = attributes.vendor_part_id;
  const bool known = (part >= 0x1003 && part <= 0x10ff) || (part >= 0xa2d2 && part <= 0xa2ff);
  return attributes.vendor_id == kMellanox && known && !is_software(device, attributes);
}

}  // namespace openlapi::verbs
