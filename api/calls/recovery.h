// What LAPI_Util does for recovery (guide, chapter 19).
#pragma once

#include "api/include/lapi.h"

namespace openlapi {

// LAPI_ADD_UDP_DEST_PORT. Returns a return code.
int add_udp_destination(lapi_handle_t handle, const lapi_add_udp_port_t& command);

}  // namespace openlapi
