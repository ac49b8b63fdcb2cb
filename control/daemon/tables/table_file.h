// A network table as users write it (man lapi_ntbl):
//
//   MP_PARTITION=4711
//   # task  node  window,adapter  device, or nothing
//   0       n0    164,sn0         mlx5_0:1
//   1       n1    any,sn0         net_af_packet0,iface=eth0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "control/daemon/messages/network_message.h"

namespace openlapi::daemon {

// Throws std::invalid_argument: the line and what is wrong with it.
NetworkTable parse_table(std::string_view text);

// "@2:164,sn0:165,sn1": MP_LAPI_NETWORK of a task whose windows these are.
std::string network_statement(const std::vector<WindowState>& windows);

}  // namespace openlapi::daemon
