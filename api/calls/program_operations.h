// Messages whose data a registered data gather/scatter program describes (LAPI_DGSP_XFER, chapters 6 and 18).
#pragma once

#include "api/context/context.h"
#include "api/include/lapi.h"

namespace openlapi {

// Returns a return code. Sets `status` and no other field of the command.
int begin_program_message(Context& context, lapi_handle_t handle, lapi_amdgsp_t& command);

}  // namespace openlapi
