// LAPI_PUTV, LAPI_GETV, LAPI_AMSENDV. The vector of the origin is the caller's variable, that of the target lies where
// a number says: so the guide has it.
#include "api/fortran/arguments.h"
#include "api/fortran/names.h"

using namespace openlapi::fortran;

extern "C" {

LAPI_PUBLIC int plapi_putv(const lapi_handle_t* handle, const uint* target, const Address* target_vector,
                           lapi_vec_t* origin_vector, const Address* target_counter, lapi_cntr_t* origin_counter,
                           lapi_cntr_t* completion_counter, int* error) {
  return report(error, LAPI_Putv(*handle, *target, held_address<lapi_vec_t>(target_vector), variable(origin_vector),
                                 held_address<lapi_cntr_t>(target_counter), variable(origin_counter),
                                 variable(completion_counter)));
}

LAPI_PUBLIC int plapi_getv(const lapi_handle_t* handle, const uint* target, const Address* target_vector,
                           lapi_vec_t* origin_vector, const Address* target_counter, lapi_cntr_t* origin_counter,
                           int* error) {
  return report(error, LAPI_Getv(*handle, *target, held_address<lapi_vec_t>(target_vector), variable(origin_vector),
                                 held_address<lapi_cntr_t>(target_counter), variable(origin_counter)));
}

LAPI_PUBLIC int plapi_amsendv(const lapi_handle_t* handle, const uint* target, void* header_handler, void* user_header,
                              const uint* user_header_length, lapi_vec_t* origin_vector, const Address* target_counter,
                              lapi_cntr_t* origin_counter, lapi_cntr_t* completion_counter, int* error) {
  return report(
      error, LAPI_Amsendv(*handle, *target, handler(header_handler), variable(user_header), *user_header_length,
                          variable(origin_vector), held_address<lapi_cntr_t>(target_counter), variable(origin_counter),
                          variable(completion_counter)));
}

}  // extern "C"

OPENLAPI_FORTRAN_NAMES(putv, PUTV);
OPENLAPI_FORTRAN_NAMES(getv, GETV);
OPENLAPI_FORTRAN_NAMES(amsendv, AMSENDV);
