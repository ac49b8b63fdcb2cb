// LAPI_NOPOLL_WAIT, LAPI_SETCNTR_WSTATUS, LAPI_PURGE_TOTASK, LAPI_RESUME_TOTASK.
#include "api/fortran/arguments.h"
#include "api/fortran/names.h"

using namespace openlapi::fortran;

extern "C" {

LAPI_PUBLIC int plapi_nopoll_wait(const lapi_handle_t* handle, lapi_cntr_t* counter, const int* value, int* rest,
                                  int* error) {
  return report(error, LAPI_Nopoll_wait(*handle, variable(counter), *value, variable(rest)));
}

// The two arrays are remembered until the counter is set again.
LAPI_PUBLIC int plapi_setcntr_wstatus(const lapi_handle_t* handle, lapi_cntr_t* counter, const int* destinations,
                                      uint* list, int* status, int* error) {
  return report(error,
                LAPI_Setcntr_wstatus(*handle, variable(counter), *destinations, variable(list), variable(status)));
}

LAPI_PUBLIC int plapi_purge_totask(const lapi_handle_t* handle, const uint* task, int* error) {
  return report(error, LAPI_Purge_totask(*handle, *task));
}

LAPI_PUBLIC int plapi_resume_totask(const lapi_handle_t* handle, const uint* task, int* error) {
  return report(error, LAPI_Resume_totask(*handle, *task));
}

}  // extern "C"

OPENLAPI_FORTRAN_NAMES(nopoll_wait, NOPOLL_WAIT);
OPENLAPI_FORTRAN_NAMES(setcntr_wstatus, SETCNTR_WSTATUS);
OPENLAPI_FORTRAN_NAMES(purge_totask, PURGE_TOTASK);
OPENLAPI_FORTRAN_NAMES(resume_totask, RESUME_TOTASK);
