// Whether a device is a piece of hardware, or the kernel's processor plays one (soft-RoCE).
#pragma once

#include "nic/verbs/verbs_objects.h"

namespace openlapi::verbs {

bool is_software(const ibv_device& device, const ibv_device_attr& attributes);

}  // namespace openlapi::verbs
