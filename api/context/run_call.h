// Running the body of a LAPI call. Exceptions become error codes: nothing but the cancellation of the calling thread is
// thrown through lapi.h.
#pragma once

#include <cxxabi.h>

#include <new>

#include "api/include/lapi.h"
#include "dataplane/base/cancellation.h"

namespace openlapi {

template <class Body>
inline int run_call(Body body) {
  try {
    return body();
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (const std::bad_alloc&) {
    return LAPI_ERR_MEMORY_EXHAUSTED;
  } catch (...) {
    return LAPI_ERR_UNKNOWN;
  }
}

// For calls that wait: they are cancellation points.
template <class Body>
inline int run_waiting_call(Body body) {
  const CancellationAtPoints points;
  return run_call(body);
}

// For calls that wait only for their own task: a thread that was cancelled before ends here, before anything is done
// and even if there is nothing to wait for. Collective calls are made all the same, since other tasks wait for them.
template <class Body>
inline int run_cancellable_call(Body body) {
  const CancellationAtPoints points;
  pthread_testcancel();
  return run_call(body);
}

// For calls that are carried out completely even if their thread is cancelled meanwhile.
template <class Body>
inline int run_whole_call(Body body) {
  const CancellationOff off;
  return run_call(body);
}

}  // namespace openlapi
