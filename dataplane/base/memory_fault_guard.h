// Copies that survive memory which is not there. The user's vectors and data gather/scatter programs may name any
// address. A copy that runs under a guard and meets an address that is not mapped, or not writable, ends there instead
// of ending the task.
//
// The copy is left by a jump out of the signal handler. So every frame between it and survives() must hold no lock and
// have only trivially destructible locals. What the copy was changing (a cursor, a place in a queue) stays as it is,
// and the caller has to clean it up or give it up. Faults of other code, faults of other threads, and signals that
// somebody has sent go to the handler that was installed before.
//
// The fault's address is not compared with the addresses that the copy may touch: for a non-canonical address the
// processor reports none, and cursors need not know their last piece. So run nothing but copies under a guard.
#pragma once

#include <signal.h>

#include <type_traits>

namespace openlapi {

// Installs the handlers of SIGSEGV and SIGBUS, at most once per process. Without them a guard has no effect. Any
// thread.
void catch_memory_faults();

// Sets a function that the signal handler calls for faults that nobody handles, if the guard's handlers are installed,
// now or later. `explain` must be async-signal-safe. Any thread.
void explain_unhandled_faults(void (*explain)(const siginfo_t& info, const void* context));

// Whether the calling thread is inside a guarded copy.
bool in_guarded_copy();

// Runs copy(argument). False: it met memory that it could not use, and was stopped there. Guards nest.
bool run_guarded(void (*copy)(void*), void* argument);

template <class Copy>
bool survives(Copy&& copy) {
  using Plain = std::remove_reference_t<Copy>;
  return run_guarded([](void* which) { (*static_cast<Plain*>(which))(); }, &copy);
}

// While it exists nothing is guarded; for a function of the user's that is called by a guarded copy.
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
