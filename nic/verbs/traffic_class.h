// The traffic class of a port's packets (DSCP and ECN bits of RoCE), as the system is set to.
#pragma once

#include <cstdint>
#include <string>

#include "nic/verbs/verbs_address.h"

namespace openlapi::verbs {

// RoCE v2, where the system says nothing: DSCP 26, and ECN that routers may mark. What UCX sends with, so that switches
// that are set up for it treat packets of both alike.
inline constexpr std::uint8_t kUsualTrafficClass = 106;

// `system`: where the system's files are; not "" in tests.
std::uint8_t system_traffic_class(const std::string& device, std::uint32_t port, Fabric fabric,
                                  const std::string& system = "");

}  // namespace openlapi::verbs
