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

std::uint32_t make_thread_number() { return static_cast<std::uint32_t>(gettid()); }

void ContextLock::lock_contended() {
  waiting_.fetch_add(1, std::memory_order_relaxed);
  for (int spin = 0; spin < kSpins; ++spin) {
    std::uint32_t expected = kFree;
    if (word_.load(std::memory_order_relaxed) == kFree &&
        word_.compare_exchange_weak(expected, kHeld, std::memory_order_acquire, std::memory_order_relaxed)) {
      waiting_.fetch_sub(1, std::memory_order_relaxed);
      return;
    }
    cpu_pause();
  }
  // Whoever comes out of the sleep marks the word for those who may still sleep.
  while (word_.exchange(kHeldWithSleepers, std::memory_order_acquire) != kFree) futex_wait(word_, kHeldWithSleepers);
  waiting_.fetch_sub(1, std::memory_order_relaxed);
}

void ContextLock::wake_one() { syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }

}  // namespace openlapi
