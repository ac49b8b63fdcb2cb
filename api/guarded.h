// Nothing thrown crosses lapi.h.
#pragma once

#include <new>

#include "api/lapi.h"

namespace openlapi {

template <class Body>
inline int guarded(Body body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return LAPI_ERR_MEMORY_EXHAUSTED;
  } catch (...) {
    return LAPI_ERR_UNKNOWN;
  }
}

}  // namespace openlapi
