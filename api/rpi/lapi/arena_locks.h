// LAM's malloc() has arenas, one for each thread that would else wait. Whoever makes one shows it to the other threads
// before making its lock: pthread_mutex_init() then frees the lock that one of them may have taken already, and two are
// in that arena. Sooner or later that ends the process, on a machine on which threads are interrupted there.
#pragma once

namespace openlapi::rpi {

// Has malloc() of the process, if it is such a one, leave locks of arenas alone that are new: their memory, all zeros,
// is a free lock already. Threads that get memory meanwhile are in danger as before.
void keep_arena_locks();

}  // namespace openlapi::rpi
