// LAPI_GET_THREAD_FUNC of LAPI_Util (chapter 12).
#pragma once

#include "api/include/lapi.h"

namespace openlapi {

void fill_thread_functions(lapi_thread_func_t& functions);

}  // namespace openlapi
