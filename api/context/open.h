// LAPI_Init behind its argument checks: the one place that wires a context.
#pragma once

#include "api/context/open_error.h"
#include "api/include/lapi.h"

namespace openlapi {

// Opens a context in a free slot and starts its threads. info.instance_no 0 becomes the number that was taken, and
// info.protocol what was found. False: `error` says why; nothing is left open.
bool open_context(lapi_info_t& info, lapi_handle_t& handle, OpenError& error);

}  // namespace openlapi
