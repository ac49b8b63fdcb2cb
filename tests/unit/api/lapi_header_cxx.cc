// lapi.h alone, first in the file, as C++17: everything is checked while this compiles.
#define LAPI_SIZE_LIMITS 1
#include "api/include/lapi.h"
#include "tests/unit/api/lapi_layout.h"
#include "tests/unit/api/lapi_places.h"
#include "tests/unit/api/lapi_types.h"
#include "tests/unit/api/lapi_values.h"

extern "C" int cxx_header_compiled() {
  lapi_msg_info_t info = {};
  info.status = 0;  // as the guide's programs write it: status is a number, not an enumeration
  return (info.status & LAPI_BOTH_COMPLETE) == 0;
}
