#include "api/context/lock_conditions.h"

#include <cerrno>

namespace openlapi {

namespace {

// Until somebody rings, or the time has come.
void sleep_until_rung(sem_t& bell, const timespec* until) {
  while ((until == nullptr ? sem_wait(&bell) : sem_timedwait(&bell, until)) != 0) {
    if (errno == ETIMEDOUT) return;
  }
}

}  // namespace

// Without the lock while it lives, on the list as long as nobody has woken the thread.
class LockConditions::Released {
 public:
  Released(LockConditions& conditions, ContextLock& lock, Waiter& self)
      : conditions_(conditions), lock_(lock), self_(self) {
    conditions_.append(self_);
    lock_.unlock();
  }
  ~Released() {
    lock_.lock();
    if (self_.woken == Woken::not_yet) {
      conditions_.remove(self_);
    } else if (self_.woken == Woken::signaled && !awake_) {
      conditions_.signal(self_.condition);  // the thread was cancelled, but the signal is not lost
    }
  }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

  void awake() { awake_ = true; }

 private:
  LockConditions& conditions_;
  ContextLock& lock_;
  Waiter& self_;
  bool awake_ = false;
};

Woken LockConditions::wait(ContextLock& lock, const void* condition, const timespec* until) {
  Waiter self(condition);
  {
    Released released(*this, lock, self);
    sleep_until_rung(self.bell, until);
    released.awake();
  }
  return self.woken == Woken::not_yet ? Woken::timed_out : self.woken;
}

void LockConditions::signal(const void* condition) {
  for (Waiter* waiter = first_; waiter != nullptr; waiter = waiter->next) {
    if (waiter->condition != condition) continue;
    remove(*waiter);
    wake(*waiter, Woken::signaled);
    return;
  }
}

void LockConditions::close() {
  while (first_ != nullptr) {
    Waiter& waiter = *first_;
    remove(waiter);
    wake(waiter, Woken::closed);
  }
}

// The waiter cannot return, and its stack not go, before the caller releases the lock.
void LockConditions::wake(Waiter& waiter, Woken how) {
  waiter.woken = how;
  sem_post(&waiter.bell);
}

void LockConditions::append(Waiter& waiter) {
  Waiter** end = &first_;
  while (*end != nullptr) end = &(*end)->next;
  *end = &waiter;
}

void LockConditions::remove(const Waiter& waiter) {
  Waiter** link = &first_;
  while (*link != &waiter) link = &(*link)->next;
  *link = waiter.next;
}

}  // namespace openlapi
