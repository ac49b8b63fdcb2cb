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

}  // namespace openlapi::verbs
