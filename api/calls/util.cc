// LAPI_Util: operations that a structure describes, whose first field says which it is.
#include "api/arguments/refusal.h"
#include "api/calls/gather_scatter_commands.h"
#include "api/calls/lock_sharing.h"
#include "api/calls/profiling.h"
#include "api/calls/recovery.h"
#include "api/context/memory_reserve.h"
#include "api/context/run_call.h"
#include "api/include/lapi.h"

namespace openlapi {

namespace {

// The others need no memory, or give some back.
bool needs_memory(lapi_util_type_t type) {
  return type == LAPI_REGISTER_DGSP || type == LAPI_DGSP_PACK || type == LAPI_DGSP_UNPACK;
}

}  // namespace

}  // namespace openlapi

using namespace openlapi;

int PLAPI_Util(lapi_handle_t hndl, lapi_util_t* util_cmd) {
  if (util_cmd == nullptr) return refuse_null(LAPI_ERR_UTIL_CMD, "util_cmd");
  return run_call([&] {
    if (needs_memory(util_cmd->Util_type) && memory_is_short()) return LAPI_ERR_MEMORY_EXHAUSTED;
    switch (util_cmd->Util_type) {
      case LAPI_REGISTER_DGSP:
        return register_program(util_cmd->RegDgsp);
      case LAPI_RESERVE_DGSP:
        return reserve_program(util_cmd->ResvDgsp);
      case LAPI_UNRESERVE_DGSP:
        return unreserve_program(util_cmd->DrefDgsp);
      case LAPI_REG_DDM_FUNC:
        return register_distribution_function(hndl, util_cmd->DdmFunc);
      case LAPI_DGSP_PACK:
        return pack(hndl, util_cmd->PackDgsp);
      case LAPI_DGSP_UNPACK:
        return unpack(hndl, util_cmd->UnpackDgsp);
      case LAPI_ADD_UDP_DEST_PORT:
        return add_udp_destination(hndl, util_cmd->Udp);
      case LAPI_GET_THREAD_FUNC:
        if (find_context(hndl) == nullptr) return refuse_handle(hndl);
        fill_thread_functions(util_cmd->ThreadFunc);
        return LAPI_SUCCESS;
      default:
        return refuse(LAPI_ERR_UTIL_CMD, "Util_type is %d; allowed are 0 to 7 (lapi_util_type_t)",
                      static_cast<int>(util_cmd->Util_type));
    }
  });
}

OPENLAPI_PROFILED(LAPI_Util);
