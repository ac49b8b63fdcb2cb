// Copies that survive memory which is not there. The user's vectors and data gather/scatter programs may name any
// address; a copy that runs under a guard and meets one that is not mapped, or is written where only reading is
// allowed, ends there instead of ending the task.
//
// The copy is left by a jump out of the signal handler: every frame between it and survives() must have trivially
// destructible locals only, must hold no lock, and what it was changing (a cursor, a queue's place) is left as it stood
// and is the caller's to clean up or to give up. Faults of other code, of other threads, and signals that somebody has
// sent go to the handler that was there before.
//
// Which addresses a guarded copy may touch is not compared with the fault's: a fault at an address that the processor
// cannot form comes without one, and cursors need not know their last piece. So only copying is put under a guard.
#pragma once

#include <signal.h>

#include <type_traits>

namespace openlapi {

// Installs the handlers of SIGSEGV and SIGBUS, at most once per process. A guard without them guards nothing. Any
// thread.
void catch_memory_faults();

// Called in the signal's handler for a fault that nobody handles, if the guard's handlers are installed, now or later.
// `explain` may use what a handler may. Any thread.
void explain_unhandled_faults(void (*explain)(const siginfo_t& info, const void* context));

// Whether the calling thread is inside a guarded copy.
bool in_guarded_copy();

// Runs copy(argument). False: it met memory that it could not use, and was left there. Guards nest.
bool run_guarded(void (*copy)(void*), void* argument);

template <class Copy>
bool survives(Copy&& copy) {
  using Plain = std::remove_reference_t<Copy>;
  return run_guarded([](void* which) { (*static_cast<Plain*>(which))(); }, &copy);
}

// While it lives nothing is guarded: around a function of the user's that a guarded copy calls.
class WithoutGuard {
 public:
  WithoutGuard();
  ~WithoutGuard();
  WithoutGuard(const WithoutGuard&) = delete;
  WithoutGuard& operator=(const WithoutGuard&) = delete;

 private:
  void* const guard_;
};

}  // namespace openlapi
