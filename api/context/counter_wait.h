// Waiting for a counter: LAPI_Waitcntr and LAPI_Nopoll_wait. A wait ends when the counter has its value, and also when
// an operation that would have moved it was given up because its task was lost or purged: so nobody waits for ever.
#pragma once

#include <atomic>

#include "api/context/context.h"
#include "api/include/lapi.h"

namespace openlapi {

inline std::atomic_ref<int> value_of(lapi_cntr_t* counter) { return std::atomic_ref<int>(counter->cntr); }

// Subtracts `value` from the counter if it is at least that large, and stores the rest. False: it is not, or another
// thread was faster.
bool subtract_if_reached(lapi_cntr_t* counter, int value, int* rest);

enum class WaitStyle : std::uint8_t {
  polling,  // spins for a while before it sleeps
  patient,  // sleeps at once; one thread per counter; without destinations a purge of any task wakes it
};

// Returns a return code.
int wait_for_counter(Context& context, lapi_handle_t handle, lapi_cntr_t* counter, int value, int* rest,
                     WaitStyle style);

}  // namespace openlapi
