#include "nic/verbs/device_kind.h"

#include <filesystem>
#include <string>
#include <system_error>

namespace openlapi::verbs {

// Its place in sysfs tells: neither names nor vendors' numbers do.
bool is_software(const ibv_device& device) {
  std::error_code missing;
  const std::string place = std::filesystem::canonical(device.ibdev_path, missing);
  return !missing && place.starts_with("/sys/devices/virtual/");
}

}  // namespace openlapi::verbs
