// The module that drives Ethernet devices by DPDK (nic/dpdk).
#pragma once

#include "nic/modules/announced_modules.h"

namespace openlapi::dpdk {

inline constexpr std::string_view kArgumentsVariable = "OPENLAPI_DPDK_ARGUMENTS";
inline constexpr ModuleVariable kVariables[] = {
    {.name = kArgumentsVariable,
     .meaning = "memory, virtual devices and drivers of a task's DPDK",
     .text = "arguments of DPDK's environment (EAL), with spaces between them",
     .without = "none besides openlapi's own"}};

inline constexpr ModuleAnnouncement kAnnouncement = {.name = "dpdk",
                                                     .title = "DPDK",
                                                     .device_names = "of DPDK devices",
                                                     .kind = DeviceKind::ethernet,
                                                     .tags_count = true,
                                                     .variables = kVariables};

}  // namespace openlapi::dpdk
