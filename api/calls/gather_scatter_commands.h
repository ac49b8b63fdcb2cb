// The commands of LAPI_Util for data gather/scatter programs (chapters 6, 18). Each returns a return code; the handle
// matters only where it is an argument.
#pragma once

#include "api/context/context.h"
#include "api/include/lapi.h"

namespace openlapi {

int register_program(lapi_reg_dgsp_t& command);
int reserve_program(const lapi_resv_dgsp_t& command);
int unreserve_program(const lapi_dref_dgsp_t& command);
int register_distribution_function(lapi_handle_t handle, const lapi_reg_ddm_t& command);
int pack(lapi_handle_t handle, lapi_pack_dgsp_t& command);
int unpack(lapi_handle_t handle, lapi_unpack_dgsp_t& command);

}  // namespace openlapi
