// The threads that wait on condition variables of one context's lock. They are kept here and not in the lapi_cond_t,
// which holds no pointers, so that they can be woken when the context ends. All functions with the lock held.
#pragma once

#include <semaphore.h>

#include <cstdint>
#include <ctime>

#include "api/lock/context_lock.h"

namespace openlapi {

enum class Woken : std::uint8_t { not_yet, signaled, timed_out, closed };

class LockConditions {
 public:
  // Releases the lock, waits until a signal() of the same condition picks this thread, and takes the lock again. Only
  // close() and the time also wake it: `until`, of CLOCK_REALTIME; null: no limit. A cancellation point: a thread that
  // is cancelled leaves with the lock, and a signal that had picked it picks the next thread.
  Woken wait(ContextLock& lock, const void* condition, const timespec* until);

  // Wakes the thread that has waited longest on the condition, if any.
  void signal(const void* condition);

  // Wakes all.
  void close();

 private:
  struct Waiter {
    explicit Waiter(const void* of) : condition(of) { sem_init(&bell, 0, 0); }
    ~Waiter() { sem_destroy(&bell); }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    const void* condition;
    Waiter* next = nullptr;
    Woken woken = Woken::not_yet;
    sem_t bell;  // rung when that has changed
  };
  class Released;

  void append(Waiter& waiter);
  void remove(const Waiter& waiter);
  static void wake(Waiter& waiter, Woken how);

  Waiter* first_ = nullptr;  // in order of arrival; on the stacks of the waiting threads
};

}  // namespace openlapi
