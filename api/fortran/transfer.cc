// LAPI_PUT, LAPI_GET, LAPI_RMW, LAPI_RMW64, LAPI_AMSEND.
#include "api/fortran/arguments.h"
#include "api/fortran/names.h"

using namespace openlapi::fortran;

extern "C" {

// The data of a put is the caller's variable, that of a get lies where a number says: so the guide has it.
LAPI_PUBLIC int plapi_put(const lapi_handle_t* handle, const uint* target, const Long* length,
                          const Address* target_address, void* data, const Address* target_counter,
                          lapi_cntr_t* origin_counter, lapi_cntr_t* completion_counter, int* error) {
  return report(error, LAPI_Put(*handle, *target, static_cast<ulong>(*length), held_address(target_address),
                                variable(data), held_address<lapi_cntr_t>(target_counter), variable(origin_counter),
                                variable(completion_counter)));
}

LAPI_PUBLIC int plapi_get(const lapi_handle_t* handle, const uint* target, const Long* length,
                          const Address* target_address, const Address* origin_address, const Address* target_counter,
                          lapi_cntr_t* origin_counter, int* error) {
  return report(error, LAPI_Get(*handle, *target, static_cast<ulong>(*length), held_address(target_address),
                                held_address(origin_address), held_address<lapi_cntr_t>(target_counter),
                                variable(origin_counter)));
}

LAPI_PUBLIC int plapi_rmw(const lapi_handle_t* handle, const int* operation, const uint* target,
                          const Address* target_variable, int* input, int* previous, lapi_cntr_t* origin_counter,
                          int* error) {
  return report(error,
                LAPI_Rmw(*handle, static_cast<RMW_ops_t>(*operation), *target, held_address<int>(target_variable),
                         variable(input), variable(previous), variable(origin_counter)));
}

LAPI_PUBLIC int plapi_rmw64(const lapi_handle_t* handle, const int* operation, const uint* target,
                            const Address* target_variable, long long* input, long long* previous,
                            lapi_cntr_t* origin_counter, int* error) {
  return report(
      error, LAPI_Rmw64(*handle, static_cast<RMW_ops_t>(*operation), *target, held_address<long long>(target_variable),
                        variable(input), variable(previous), variable(origin_counter)));
}

LAPI_PUBLIC int plapi_amsend(const lapi_handle_t* handle, const uint* target, void* header_handler, void* user_header,
                             const uint* user_header_length, void* data, const Long* length,
                             const Address* target_counter, lapi_cntr_t* origin_counter,
                             lapi_cntr_t* completion_counter, int* error) {
  return report(error,
                LAPI_Amsend(*handle, *target, handler(header_handler), variable(user_header), *user_header_length,
                            variable(data), static_cast<ulong>(*length), held_address<lapi_cntr_t>(target_counter),
                            variable(origin_counter), variable(completion_counter)));
}

}  // extern "C"

OPENLAPI_FORTRAN_NAMES(put, PUT);
OPENLAPI_FORTRAN_NAMES(get, GET);
OPENLAPI_FORTRAN_NAMES(rmw, RMW);
OPENLAPI_FORTRAN_NAMES(rmw64, RMW64);
OPENLAPI_FORTRAN_NAMES(amsend, AMSEND);
