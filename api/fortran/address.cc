// LAPI_ADDRESS, LAPI_ADDRESS_INIT, LAPI_ADDRESS_INIT64, LAPI_ADDR_SET, LAPI_ADDR_GET.
#include "api/fortran/arguments.h"
#include "api/fortran/names.h"

using namespace openlapi::fortran;

extern "C" {

// The only way from a variable or procedure to a number.
LAPI_PUBLIC int plapi_address(void* object, ulong* address, int* error) {
  return report(error, LAPI_Address(variable(object), variable(address)));
}

LAPI_PUBLIC int plapi_address_init(const lapi_handle_t* handle, const Address* own, void** table, int* error) {
  return report(error, LAPI_Address_init(*handle, held_address(own), variable(table)));
}

LAPI_PUBLIC int plapi_address_init64(const lapi_handle_t* handle, const Address* own, lapi_long_t* table, int* error) {
  const auto address = reinterpret_cast<std::uintptr_t>(held_address(own));
  return report(error, LAPI_Address_init64(*handle, address, variable(table)));
}

LAPI_PUBLIC int plapi_addr_set(const lapi_handle_t* handle, void* address, const int* index, int* error) {
  return report(error, LAPI_Addr_set(*handle, handler_address(address), *index));
}

LAPI_PUBLIC int plapi_addr_get(const lapi_handle_t* handle, void** address, const int* index, int* error) {
  return report(error, LAPI_Addr_get(*handle, variable(address), *index));
}

}  // extern "C"

OPENLAPI_FORTRAN_NAMES(address, ADDRESS);
OPENLAPI_FORTRAN_NAMES(address_init, ADDRESS_INIT);
OPENLAPI_FORTRAN_NAMES(address_init64, ADDRESS_INIT64);
OPENLAPI_FORTRAN_NAMES(addr_set, ADDR_SET);
OPENLAPI_FORTRAN_NAMES(addr_get, ADDR_GET);
