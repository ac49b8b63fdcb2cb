// The module that drives Ethernet devices by DPDK (nic/dpdk).
#pragma once

#include "dataplane/base/whole_number.h"
#include "nic/modules/announced_modules.h"
#include "nic/modules/dpdk_variables.h"

namespace openlapi::dpdk {

inline constexpr std::string_view kArgumentsVariable = "OPENLAPI_DPDK_ARGUMENTS";
inline constexpr std::string_view kAddressVariable = "OPENLAPI_DPDK_ADDRESS";
inline constexpr std::string_view kGatewayVariable = "OPENLAPI_DPDK_GATEWAY";
inline constexpr std::string_view kVlanVariable = "OPENLAPI_DPDK_VLAN";
inline constexpr std::string_view kDscpVariable = "OPENLAPI_DPDK_DSCP";
inline constexpr ModuleVariable kVariables[] = {
    {.name = kArgumentsVariable,
     .meaning = "memory, virtual devices and drivers of a task's DPDK",
     .text = "arguments of DPDK's environment (EAL), with spaces between them",
     .without = "none besides openlapi's own"},
    {.name = kAddressVariable,
     .meaning = "the IPv4 address and network of DPDK adapters",
     .text = "[DEVICE=]ADDRESS/BITS, as 10.0.0.5/24, or ADDRESS+/BITS, to which the task's number is added, or "
             "[DEVICE=]interface; several with spaces between them",
     .without = "one of 169.254.0.0/16 that follows from the hardware address",
     .accepts = are_own_addresses},
    {.name = kGatewayVariable,
     .meaning = "the router behind which DPDK adapters reach other networks",
     .text = "[DEVICE=]ADDRESS, as 10.0.0.1; several with spaces between them",
     .without = "with OPENLAPI_DPDK_ADDRESS=interface that of the kernel, otherwise none",
     .accepts = are_gateways},
    {.name = kVlanVariable,
     .meaning = "the VLAN that DPDK adapters send and receive in, and the priority of their frames there",
     .text = "NUMBER or NUMBER:PRIORITY, from 0 to 4094 (0: the priority alone) and from 0 to 7",
     .without = "frames without a tag",
     .accepts = is_vlan},
    {.name = kDscpVariable,
     .meaning = "the DSCP of packets over DPDK, by which routers and switches tell classes of traffic",
     .text = "a number from 0 to 63",
     .without = "0",
     .accepts = [](std::string_view text) { return whole_number<unsigned>(text, 0, kHighestDscp).has_value(); }}};

inline constexpr ModuleAnnouncement kAnnouncement = {.name = "dpdk",
                                                     .title = "DPDK",
                                                     .device_names = "of DPDK devices",
                                                     .kind = DeviceKind::ethernet,
                                                     .tags_count = true,
                                                     .variables = kVariables};

}  // namespace openlapi::dpdk
