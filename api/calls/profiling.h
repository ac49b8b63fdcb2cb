// Chapter 9: every LAPI_x is a weak name of PLAPI_x, so a program or an earlier library may define its own LAPI_x and
// call PLAPI_x from it. The library itself calls neither: what it needs are internal functions.
#pragma once

#define OPENLAPI_PROFILED(name) \
  extern "C" LAPI_PUBLIC decltype(P##name) name __attribute__((weak, alias("P" #name)))
