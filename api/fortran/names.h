// Table 10: a call has eight names in Fortran, because compilers differ in case and in the underscore. They are names
// of one function; the LAPI ones are weak, so that a profiling layer may define its own (chapter 9).
#pragma once

#include "api/include/lapi.h"

#define OPENLAPI_FORTRAN_ALIAS(alias_name, name) \
  extern "C" LAPI_PUBLIC decltype(name) alias_name __attribute__((alias(#name)))
#define OPENLAPI_FORTRAN_WEAK_ALIAS(alias_name, name) \
  extern "C" LAPI_PUBLIC decltype(name) alias_name __attribute__((weak, alias(#name)))

// Follows the definition of plapi_<lower>.
#define OPENLAPI_FORTRAN_NAMES(lower, upper)                   \
  OPENLAPI_FORTRAN_ALIAS(plapi_##lower##_, plapi_##lower);     \
  OPENLAPI_FORTRAN_ALIAS(PLAPI_##upper, plapi_##lower);        \
  OPENLAPI_FORTRAN_ALIAS(PLAPI_##upper##_, plapi_##lower);     \
  OPENLAPI_FORTRAN_WEAK_ALIAS(lapi_##lower, plapi_##lower);    \
  OPENLAPI_FORTRAN_WEAK_ALIAS(lapi_##lower##_, plapi_##lower); \
  OPENLAPI_FORTRAN_WEAK_ALIAS(LAPI_##upper, plapi_##lower);    \
  OPENLAPI_FORTRAN_WEAK_ALIAS(LAPI_##upper##_, plapi_##lower)
