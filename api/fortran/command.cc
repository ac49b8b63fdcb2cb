// LAPI_XFER and LAPI_UTIL: the command is one of the derived types of lapif.h, whose fields are those of C. Addresses
// in it are integers that LAPI_ADDRESS has filled.
#include "api/fortran/arguments.h"
#include "api/fortran/names.h"

using namespace openlapi::fortran;

extern "C" {

LAPI_PUBLIC int plapi_xfer(const lapi_handle_t* handle, lapi_xfer_t* command, int* error) {
  return report(error, LAPI_Xfer(*handle, variable(command)));
}

LAPI_PUBLIC int plapi_util(const lapi_handle_t* handle, lapi_util_t* command, int* error) {
  return report(error, LAPI_Util(*handle, variable(command)));
}

}  // extern "C"

OPENLAPI_FORTRAN_NAMES(util, UTIL);
OPENLAPI_FORTRAN_NAMES(xfer, XFER);
