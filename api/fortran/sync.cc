// LAPI_SETCNTR, LAPI_GETCNTR, LAPI_WAITCNTR, LAPI_PROBE, LAPI_MSGPOLL, LAPI_FENCE, LAPI_GFENCE.
#include "api/fortran/arguments.h"
#include "api/fortran/names.h"

using namespace openlapi::fortran;

extern "C" {

LAPI_PUBLIC int plapi_setcntr(const lapi_handle_t* handle, lapi_cntr_t* counter, const int* value, int* error) {
  return report(error, LAPI_Setcntr(*handle, variable(counter), *value));
}

LAPI_PUBLIC int plapi_getcntr(const lapi_handle_t* handle, lapi_cntr_t* counter, int* value, int* error) {
  return report(error, LAPI_Getcntr(*handle, variable(counter), variable(value)));
}

LAPI_PUBLIC int plapi_waitcntr(const lapi_handle_t* handle, lapi_cntr_t* counter, const int* value, int* rest,
                               int* error) {
  return report(error, LAPI_Waitcntr(*handle, variable(counter), *value, variable(rest)));
}

LAPI_PUBLIC int plapi_probe(const lapi_handle_t* handle, int* error) { return report(error, LAPI_Probe(*handle)); }

LAPI_PUBLIC int plapi_msgpoll(const lapi_handle_t* handle, const uint* count, lapi_msg_info_t* info, int* error) {
  return report(error, LAPI_Msgpoll(*handle, *count, variable(info)));
}

LAPI_PUBLIC int plapi_fence(const lapi_handle_t* handle, int* error) { return report(error, LAPI_Fence(*handle)); }

LAPI_PUBLIC int plapi_gfence(const lapi_handle_t* handle, int* error) { return report(error, LAPI_Gfence(*handle)); }

}  // extern "C"

OPENLAPI_FORTRAN_NAMES(setcntr, SETCNTR);
OPENLAPI_FORTRAN_NAMES(getcntr, GETCNTR);
OPENLAPI_FORTRAN_NAMES(waitcntr, WAITCNTR);
OPENLAPI_FORTRAN_NAMES(probe, PROBE);
OPENLAPI_FORTRAN_NAMES(msgpoll, MSGPOLL);
OPENLAPI_FORTRAN_NAMES(fence, FENCE);
OPENLAPI_FORTRAN_NAMES(gfence, GFENCE);
