// The module that drives RDMA devices (nic/verbs).
#pragma once

#include "nic/modules/announced_modules.h"
#include "nic/modules/verbs_variables.h"

namespace openlapi::verbs {

inline constexpr std::string_view kPacketsAsDatagrams = "ud";
inline constexpr std::string_view kPacketsThroughConnections = "rc";
inline constexpr std::string_view kPacketServices[] = {"auto", kPacketsAsDatagrams, kPacketsThroughConnections};

inline constexpr std::string_view kPagingNever = "no";
inline constexpr std::string_view kPagingAlways = "yes";
inline constexpr std::string_view kPagingChoices[] = {"auto", kPagingNever, kPagingAlways};

inline constexpr std::string_view kRingsWhereInOrder = "auto";
inline constexpr std::string_view kRingsAlways = "yes";
inline constexpr std::string_view kRingsChoices[] = {"no", kRingsWhereInOrder, kRingsAlways};

inline constexpr std::string_view kOneSidedGets = "get";
inline constexpr std::string_view kOneSidedChoices[] = {"no", kOneSidedGets};

inline constexpr std::string_view kPacketsVariable = "OPENLAPI_VERBS_PACKETS";
inline constexpr std::string_view kPartitionVariable = "OPENLAPI_VERBS_PKEY";
inline constexpr std::string_view kServiceLevelVariable = "OPENLAPI_VERBS_SERVICE_LEVEL";
inline constexpr std::string_view kTrafficClassVariable = "OPENLAPI_VERBS_TRAFFIC_CLASS";
inline constexpr std::string_view kGidPrefixVariable = "OPENLAPI_VERBS_GID_PREFIX";
inline constexpr std::string_view kVlanVariable = "OPENLAPI_VERBS_VLAN";
inline constexpr std::string_view kRingsVariable = "OPENLAPI_VERBS_RINGS";
inline constexpr std::string_view kOneSidedVariable = "OPENLAPI_VERBS_ONE_SIDED";
inline constexpr std::string_view kPagingVariable = "OPENLAPI_VERBS_ON_DEMAND_PAGING";
inline constexpr ModuleVariable kVariables[] = {
    {.name = kPagingVariable,
     .meaning = "bulk memory by an adapter's on-demand paging: auto where it cannot stay registered, yes all of it",
     .words = kPagingChoices},
    {.name = kOneSidedVariable,
     .meaning = "operations without the target, where adapters page all memory on demand: get those of up to 256 bytes",
     .words = kOneSidedChoices},
    {.name = kPacketsVariable,
     .meaning = "packets over RDMA: ud as datagrams, rc through connections, auto connects to peers that are sent much",
     .words = kPacketServices},
    {.name = kRingsVariable,
     .meaning =
         "short packets of busy peers written into memory: auto over adapters that place bytes in order, yes any",
     .words = kRingsChoices},
    {.name = kPartitionVariable,
     .meaning = "the partition of InfiniBand that packets are sent in, by its P_Key",
     .text = "a hexadecimal number from 0x1 to 0xffff (its highest bit, membership, does not count)",
     .without = "the first one of which the port is a full member",
     .accepts = [](std::string_view text) { return partition_key(text).has_value(); }},
    {.name = kServiceLevelVariable,
     .meaning = "the service level of packets over InfiniBand; over RoCE the priority of frames in a VLAN",
     .text = "a number from 0 to 15",
     .without = "0",
     .accepts = [](std::string_view text) { return service_level(text).has_value(); }},
    {.name = kTrafficClassVariable,
     .meaning = "the traffic class (DSCP and ECN) of packets over RoCE v2, and between subnets of InfiniBand",
     .text = "a number from 0 to 255",
     .without = "over RoCE v2 what the system has set for the port, otherwise 106; over others 0",
     .accepts = [](std::string_view text) { return traffic_class(text).has_value(); }},
    {.name = kGidPrefixVariable,
     .meaning = "the network of the GID that an RDMA port is used with",
     .text = "ADDRESS/BITS, as 10.77.0.0/16 or fd77::/64",
     .without = "any",
     .accepts = [](std::string_view text) { return gid_prefix(text).has_value(); }},
    {.name = kVlanVariable,
     .meaning = "the VLAN of the GID that a RoCE port is used with",
     .text = "a number from 1 to 4094, or 0 for none",
     .without = "one without a VLAN before those with one",
     .accepts = [](std::string_view text) { return vlan_number(text).has_value(); }}};

inline constexpr ModuleAnnouncement kAnnouncement = {.name = "verbs",
                                                     .title = "RDMA",
                                                     .device_names = "of an RDMA device (DEVICE[:PORT[:GID_INDEX]])",
                                                     .kind = DeviceKind::rdma,
                                                     .variables = kVariables};

}  // namespace openlapi::verbs
