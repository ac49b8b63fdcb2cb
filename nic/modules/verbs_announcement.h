// The module that drives RDMA devices (nic/verbs).
#pragma once

#include "nic/modules/announced_modules.h"

namespace openlapi::verbs {

inline constexpr std::string_view kPacketsAsDatagrams = "ud";
inline constexpr std::string_view kPacketsThroughConnections = "rc";
inline constexpr std::string_view kPacketServices[] = {"auto", kPacketsAsDatagrams, kPacketsThroughConnections};

inline constexpr std::string_view kPacketsVariable = "OPENLAPI_VERBS_PACKETS";
inline constexpr ModuleVariable kVariables[] = {
    {.name = kPacketsVariable,
     .meaning = "packets over RDMA: ud as datagrams, rc through connections, auto connects to peers that are sent much",
     .words = kPacketServices}};

inline constexpr ModuleAnnouncement kAnnouncement = {.name = "verbs",
                                                     .title = "RDMA",
                                                     .device_names = "of an RDMA device (DEVICE[:PORT[:GID_INDEX]])",
                                                     .kind = DeviceKind::rdma,
                                                     .variables = kVariables};

}  // namespace openlapi::verbs
