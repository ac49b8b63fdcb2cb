// The lock of one context; later also the lock that LAPI_GET_THREAD_FUNC shares with the user. A thread that owns it
// knows that it does (owned_by_caller()) and does not take it again. Uncontended it costs one atomic exchange each way;
// contended it spins for about the time of one progress step and then sleeps in the kernel, so that an owner who was
// descheduled on the same core gets to run.
#pragma once

#include <atomic>
#include <cstdint>

namespace openlapi {

// A number for the calling thread that no other living thread has; never 0.
std::uint32_t make_thread_number();

inline std::uint32_t thread_number() {
  constinit thread_local std::uint32_t number = 0;
  if (number == 0) [[unlikely]] number = make_thread_number();
  return number;
}

class ContextLock {
 public:
  void lock() {
    std::uint32_t expected = kFree;
    // Acquire: what the last owner did; pairs with the release in unlock().
    if (!word_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire, std::memory_order_relaxed))
        [[unlikely]] {
      lock_contended();
    }
    owner_.store(thread_number(), std::memory_order_relaxed);
  }

  bool try_lock() {
    std::uint32_t expected = kFree;
    if (!word_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire, std::memory_order_relaxed)) {
      return false;
    }
    owner_.store(thread_number(), std::memory_order_relaxed);
    return true;
  }

  void unlock() {
    owner_.store(0, std::memory_order_relaxed);
    if (word_.exchange(kFree, std::memory_order_release) == kHeldWithSleepers) [[unlikely]] wake_one();
  }

  // thread_number() of the owner; 0: nobody. Only exact when the caller is the owner or nobody changes.
  std::uint32_t owner() const { return owner_.load(std::memory_order_relaxed); }
  bool owned_by_caller() const { return owner() == thread_number(); }

  // Whether some thread waits for the lock.
  bool wanted() const { return waiting_.load(std::memory_order_relaxed) != 0; }

 private:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kHeld = 1;
  static constexpr std::uint32_t kHeldWithSleepers = 2;  // or there may be some

  void lock_contended();
  void wake_one();

  std::atomic<std::uint32_t> word_{kFree};
  std::atomic<std::uint32_t> owner_{0};
  std::atomic<std::uint32_t> waiting_{0};
};

}  // namespace openlapi
