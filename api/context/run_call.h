// Nothing thrown crosses lapi.h but the cancellation of the calling thread.
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

// Of a call that waits: it is a cancellation point.
template <class Body>
inline int run_waiting_call(Body body) {
  const CancellationAtPoints points;
  return run_call(body);
}

// Of a call that waits for nobody but its own task: where the thread has been cancelled already it ends before it does
// anything, even if there were nothing to wait for. A collective call is made all the same, since others wait for it.
template <class Body>
inline int run_cancellable_call(Body body) {
  const CancellationAtPoints points;
  pthread_testcancel();
  return run_call(body);
}

// Of a call that is carried out as a whole although its thread is cancelled meanwhile.
template <class Body>
inline int run_whole_call(Body body) {
  const CancellationOff off;
  return run_call(body);
}

}  // namespace openlapi
