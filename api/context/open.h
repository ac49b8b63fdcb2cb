// LAPI_Init after its argument checks: the one place that assembles a context.
#pragma once

#include "api/context/open_error.h"
#include "api/include/lapi.h"

namespace openlapi {

// Opens a context in a free slot and starts its threads. An info.instance_no of 0 is replaced by the number that was
// taken, and info.protocol is set to what was found. False: `error` says why, and nothing is left open.
bool open_context(lapi_info_t& info, lapi_handle_t& handle, OpenError& error);

}  // namespace openlapi
