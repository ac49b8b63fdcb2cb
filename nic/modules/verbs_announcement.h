// The module that drives RDMA devices (nic/verbs).
#pragma once

#include "nic/modules/announced_modules.h"
#include "nic/modules/verbs_variables.h"

namespace openlapi::verbs {

inline constexpr std::string_view kPacketsAsDatagrams = "ud";
inline constexpr std::string_view kPacketsThroughConnections = "rc";
inline constexpr std::string_view kPacketServices[] = {"auto", kPacketsAsDatagrams, kPacketsThroughConnections};

inline constexpr std::string_view kPacketsVariable = "OPENLAPI_VERBS_PACKETS";
inline constexpr std::string_view kPartitionVariable = "OPENLAPI_VERBS_PKEY";
inline constexpr ModuleVariable kVariables[] = {
    {.name = kPacketsVariable,
     .meaning = "packets over RDMA: ud as datagrams, rc through connections, auto connects to peers that are sent much",
     .words = kPacketServices},
    {.name = kPartitionVariable,
     .meaning = "the partition of InfiniBand that packets are sent in, by its P_Key",
     .text = "a hexadecimal number from 0x1 to 0xffff (its highest bit, membership, does not count)",
     .without = "the first one of which the port is a full member",
     .accepts = [](std::string_view text) { return partition_key(text).has_value(); }}};

inline constexpr ModuleAnnouncement kAnnouncement = {.name = "verbs",
                                                     .title = "RDMA",
                                                     .device_names = "of an RDMA device (DEVICE[:PORT[:GID_INDEX]])",
                                                     .kind = DeviceKind::rdma,
                                                     .variables = kVariables};

}  // namespace openlapi::verbs
