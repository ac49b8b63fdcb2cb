#include "api/lock_conditions.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace openlapi {

namespace {

constexpr auto kNotYet = static_cast<std::uint32_t>(Woken::not_yet);

// Until the word is no longer kNotYet, or the time has come.
void sleep_on(const std::atomic<std::uint32_t>& word, const timespec* until) {
  const int operation = FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME;
  // Acquire: pairs with the release in wake(); what else changed is seen through the lock.
  while (word.load(std::memory_order_acquire) == kNotYet) {
    const long result = syscall(SYS_futex, &word, operation, kNotYet, until, nullptr, FUTEX_BITSET_MATCH_ANY);
    if (result != 0 && errno == ETIMEDOUT) return;
  }
}

}  // namespace

Woken LockConditions::wait(ContextLock& lock, const void* condition, const timespec* until) {
  Waiter self;
  self.condition = condition;
  append(self);
  lock.unlock();
  sleep_on(self.woken, until);
  lock.lock();
  const auto how = static_cast<Woken>(self.woken.load(std::memory_order_relaxed));
  if (how != Woken::not_yet) return how;
  remove(self);
  return Woken::timed_out;
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
  waiter.woken.store(static_cast<std::uint32_t>(how), std::memory_order_release);
  syscall(SYS_futex, &waiter.woken, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
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
