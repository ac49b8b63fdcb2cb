// The threads that wait on condition variables of one context's lock. They are here and not in the lapi_cond_t, which
// holds no pointers: so the end of the context can send them home. All with the lock held.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

#include "api/context_lock.h"

namespace openlapi {

enum class Woken : std::uint32_t { not_yet, signaled, timed_out, closed };

class LockConditions {
 public:
  // Releases the lock, waits until a signal() of the same condition chooses this thread, and has the lock again. No
  // other reason wakes it but close() and the time: `until`, of CLOCK_REALTIME; null: it waits for ever.
  Woken wait(ContextLock& lock, const void* condition, const timespec* until);

  // Wakes the thread that has waited longest on the condition, if any.
  void signal(const void* condition);

  // Wakes all.
  void close();

 private:
  struct Waiter {
    const void* condition = nullptr;
    Waiter* next = nullptr;
    std::atomic<std::uint32_t> woken{static_cast<std::uint32_t>(Woken::not_yet)};
  };

  void append(Waiter& waiter);
  void remove(const Waiter& waiter);
  static void wake(Waiter& waiter, Woken how);

  Waiter* first_ = nullptr;  // in order of arrival; on the stacks of the waiting threads
};

}  // namespace openlapi
