// LAPI_INIT, LAPI_TERM, LAPI_QENV, LAPI_SENV, LAPI_MSG_STRING.
#include "api/fortran/arguments.h"
#include "api/fortran/names.h"

using namespace openlapi::fortran;

extern "C" {

LAPI_PUBLIC int plapi_init(lapi_handle_t* handle, lapi_info_t* info, int* error) {
  return report(error, LAPI_Init(variable(handle), variable(info)));
}

LAPI_PUBLIC int plapi_term(const lapi_handle_t* handle, int* error) { return report(error, LAPI_Term(*handle)); }

LAPI_PUBLIC int plapi_qenv(const lapi_handle_t* handle, const int* query, int* value, int* error) {
  return report(error, LAPI_Qenv(*handle, static_cast<lapi_query_t>(*query), variable(value)));
}

LAPI_PUBLIC int plapi_senv(const lapi_handle_t* handle, const int* query, const int* value, int* error) {
  return report(error, LAPI_Senv(*handle, static_cast<lapi_query_t>(*query), *value));
}

// As in C the text ends with a zero: how much room there is behind it is not known here.
LAPI_PUBLIC int plapi_msg_string(const int* code, void* text, int* error) {
  return report(error, LAPI_Msg_string(*code, variable(text)));
}

}  // extern "C"

OPENLAPI_FORTRAN_NAMES(init, INIT);
OPENLAPI_FORTRAN_NAMES(term, TERM);
OPENLAPI_FORTRAN_NAMES(qenv, QENV);
OPENLAPI_FORTRAN_NAMES(senv, SENV);
OPENLAPI_FORTRAN_NAMES(msg_string, MSG_STRING);
