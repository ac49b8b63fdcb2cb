// Waiting for a counter: LAPI_Waitcntr and LAPI_Nopoll_wait. A wait ends when the counter is there, and also when an
// operation that would have moved it was given up, because its task was lost or purged: nobody waits for ever.
#pragma once

#include <atomic>

#include "api/context/context.h"
#include "api/include/lapi.h"

namespace openlapi {

inline std::atomic_ref<int> value_of(lapi_cntr_t* counter) { return std::atomic_ref<int>(counter->cntr); }

// Subtracts `value` from the counter when it is that large, and writes the rest. False: it is not, or another thread
// was faster.
bool subtract_if_reached(lapi_cntr_t* counter, int value, int* rest);

enum class WaitStyle : std::uint8_t {
  polling,  // spins for a while before it sleeps
  patient,  // sleeps at once; one thread for each counter; a purge of any task wakes it when nobody is named
};

// A return code.
int wait_for_counter(Context& context, lapi_handle_t handle, lapi_cntr_t* counter, int value, int* rest,
                     WaitStyle style);

}  // namespace openlapi
