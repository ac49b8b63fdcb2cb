// How Fortran's arguments become C's. Fortran passes everything by reference: a number arrives as a pointer to it, a
// variable of the caller as a pointer that C takes as it is, and an address as a pointer to the number that holds it.
#pragma once

#include <cstdint>

#include "api/include/lapi.h"

// LAPI_ADDR_NULL of lapif.h, a common block. Always 0; passed by reference, its own address stands for a null pointer.
// A Fortran program has a block of this name, too: the linker makes the two one.
extern "C" LAPI_PUBLIC std::intptr_t lapi_fortran_null;

namespace openlapi::fortran {

using Address = std::intptr_t;  // integer(kind=LAPI_ADDR_TYPE)
using Long = long;              // integer(kind=LAPI_LONG_TYPE)

// A variable of the caller, or null.
template <class T>
T* variable(T* argument) {
  return static_cast<void*>(argument) == &lapi_fortran_null ? nullptr : argument;
}

// The address that a variable of the caller holds.
template <class T = void>
T* held_address(const Address* argument) {
  return argument == nullptr ? nullptr : reinterpret_cast<T*>(*argument);
}

// A handler: the argument is a procedure, or a variable that holds a handler's address or, from 1 to LOC_ADDRTBL_SZ -
// 1, an index of LAPI_ADDR_SET in any kind of integer. An index passed by value (%VAL) is taken as it is.
void* handler(void* argument);

// The same where an index makes no sense.
void* handler_address(void* argument);

// Stores a call's return code in ierror and returns it, so that the calls are functions of C, too.
inline int report(int* error, int code) {
  *error = code;
  return code;
}

}  // namespace openlapi::fortran
