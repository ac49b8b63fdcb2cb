#include "api/context_lock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dataplane/poller/backoff.h"

namespace openlapi {

namespace {

constexpr int kSpins = 100;

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

}  // namespace

void ContextLock::lock_contended() {
  waiting_.fetch_add(1, std::memory_order_relaxed);
  bool taken = false;
  for (int spin = 0; spin < kSpins && !taken; ++spin) {
    taken = word_.load(std::memory_order_relaxed) == kFree && take();
    if (!taken) cpu_pause();
  }
  if (!taken) sleep_until_taken();
  waiting_.fetch_sub(1, std::memory_order_relaxed);
}

void ContextLock::sleep_until_taken() {
  sleepers_.fetch_add(1, std::memory_order_relaxed);
  // Whoever frees the lock from here on wakes one of us.
  heavy_fence();
  while (!take()) futex_wait(word_, kHeld);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

void ContextLock::wake_one() { syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }

}  // namespace openlapi
