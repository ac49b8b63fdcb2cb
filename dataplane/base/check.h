// Three checks with three meanings: static_assert for layouts; OPENLAPI_CHECK, always on, for our own state being
// broken (prints and aborts: going on would corrupt the user's memory); assert() for misuse by our own code in debug
// builds. Input from peers is never checked with any of them: it is counted and dropped.
#pragma once

#include <cstdio>
#include <cstdlib>

#define OPENLAPI_CHECK(condition)                                                                                    \
  do {                                                                                                               \
    if (!(condition)) [[unlikely]] {                                                                                 \
      std::fprintf(stderr, "openlapi: internal error: %s does not hold at %s:%d\n", #condition, __FILE__, __LINE__); \
      std::abort();                                                                                                  \
    }                                                                                                                \
  } while (false)
