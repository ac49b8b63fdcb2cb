// The lock of one context, which LAPI_GET_THREAD_FUNC shares with the user. A thread that owns it can tell
// (owned_by_caller()) and does not take it again. With contention it spins for about the time of a progress step and
// then sleeps in the kernel, so that an owner that was descheduled on the same core can run.
//
// Without contention it costs one atomic exchange and, at the end, a plain store; and plain stores and loads for its
// favourite, the first thread that has taken it some thousand times in a row: as long as the word says kFavoured, the
// lock is held if and only if the favourite is inside. Another thread first ends that (revoke()): it pays for both with
// a barrier in all threads, and each such end makes the favourite wait longer for the next time; but not one that only
// borrows it (try_borrow()). Nobody else becomes the favourite, so that only one thread ever writes inside_
// (tests/models/favoured_lock.pml).
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "dataplane/base/asymmetric_fence.h"
#include "dataplane/base/sanitizer_order.h"

namespace openlapi {

// A handler that runs with its context's lock held. Send completion handlers have the rights of inline completion
// handlers.
enum class RunningHandler : std::uint8_t { none, header, inline_completion };

// The innermost of the handlers on the calling thread's stack that run with a context's lock held.
inline RunningHandler& innermost_handler() {
  constinit thread_local RunningHandler handler = RunningHandler::none;
  return handler;
}

// Whether the calling thread runs a handler inside some context. Such a thread never waits for a second context's lock:
// that lock's owner may be in a handler, too, and ask for the first.
inline bool in_handler_inside() { return innermost_handler() != RunningHandler::none; }

// Work left for whoever holds the lock by threads that do not wait for it.
class LockGuests {
 public:
  virtual void admit_guests() = 0;  // with the lock; calls guests_admitted() before it looks at what there is

 protected:
  ~LockGuests() = default;
};

// pthread_self() without a function call.
inline pthread_t this_thread() {
  constinit thread_local pthread_t self = 0;
  if (self == 0) [[unlikely]]
    self = pthread_self();
  return self;
}

class ContextLock {
 public:
  static constexpr pthread_t kNobody = 0;  // no thread of the C library has it: it is the address of a thread's block
  // So many before the first time; twice as many after each time that it was revoked.
  static constexpr std::uint32_t kTurnsUntilFavoured = 4096;
  static constexpr std::uint32_t kMostTurnsUntilFavoured = 1 << 24;

  // Call it before any guest is announced. Null: there are never guests.
  void set_guests(LockGuests* guests) { guests_.store(guests, std::memory_order_relaxed); }

  [[gnu::always_inline]] void lock() {
    const pthread_t self = this_thread();
    if (!(favourite_.load(std::memory_order_relaxed) == self ? enter() : take_free())) [[unlikely]]
      lock_contended();
    owner_.store(self, std::memory_order_relaxed);
  }

  bool try_lock() { return try_lock(Revoking::unless_inside); }
  // The same for one turn now and then: the favourite is it again after unlock(), unless somebody waits then.
  bool try_borrow() { return try_lock(Revoking::for_a_turn); }

  [[gnu::always_inline]] void unlock() {
    set_free();
    // Pairs with the heavy fence of whoever is about to sleep: either we see it, or it sees that the lock is free.
    light_fence();
    if (sleepers_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      let_others_in();
  }

  // Any thread, after it has left work. That is done before the lock is free again; if the lock is free, by this
  // thread.
  void announce_guest();
  // Whether work was left. The owner may check, and do it at once.
  bool has_guest() const { return guest_waits_.load(std::memory_order_relaxed); }
  void guests_admitted();

  // For the owner: gives the lock to another thread that waits for it, and takes it back afterwards. A sleeping thread
  // would find the lock taken again by the time it runs, so the caller waits for it; at most 100 ms, as it may be
  // stopped.
  void hand_over();

  // pthread_self() of the owner, or kNobody. Exact only if the caller is the owner or the owner does not change.
  pthread_t owner() const { return owner_.load(std::memory_order_relaxed); }
  [[gnu::always_inline]] bool owned_by_caller() const { return owner() == this_thread(); }

  // Whether its favourite takes it without an atomic exchange.
  bool is_favoured() const { return word_.load(std::memory_order_relaxed) == kFavoured; }

  // Whether some thread waits for the lock, or has left work.
  bool wanted() const { return waiting_.load(std::memory_order_relaxed) != 0; }

 private:
  // What the word says.
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kHeld = 1;
  static constexpr std::uint32_t kFavoured = 2;  // the favourite comes and goes as it likes
  static constexpr std::uint32_t kRevoked = 3;   // it does not, and another thread takes the lock once it has left

  enum class Revoking : std::uint8_t { for_a_turn, unless_inside, waits };

  bool try_lock(Revoking revoking) {
    if (owned_by_caller()) return false;  // the favourite would be let in once more
    while (!take(revoking)) {
      if (!looks_free()) return false;
    }
    owner_.store(this_thread(), std::memory_order_relaxed);
    return true;
  }

  bool take_free() {
    std::uint32_t expected = kFree;
    // Acquire: what the last owner did; pairs with the release in set_free().
    if (!word_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire, std::memory_order_relaxed)) {
      return false;
    }
    tell_acquire(this);
    return true;
  }
  // The favourite only. Whoever revokes sees that it is inside, or it sees that it may not be.
  [[gnu::always_inline]] bool enter() {
    inside_.store(1, std::memory_order_relaxed);
    light_fence();
    // Acquire: what one who has borrowed the lock did.
    if (word_.load(std::memory_order_acquire) != kFavoured) [[unlikely]]
      return step_back();
    tell_acquire(this);
    return true;
  }
  [[gnu::always_inline]] void set_free() {
    tell_release(this);
    const bool favoured = word_.load(std::memory_order_relaxed) != kHeld;
    if (favoured) {
      owner_.store(kNobody, std::memory_order_relaxed);
      inside_.store(0, std::memory_order_release);
    } else {
      const std::uint32_t next = after_turn_of(owner());
      owner_.store(kNobody, std::memory_order_relaxed);
      word_.store(next, std::memory_order_release);
    }
  }
  // What the word says after a thread had the lock.
  std::uint32_t after_turn_of(pthread_t thread) {
    if (thread != last_owner_ || wanted()) {
      if (favour_comes_back()) return kFavoured;
      last_owner_ = thread;
      turns_in_a_row_ = 0;
    }
    return ++turns_in_a_row_ >= turns_until_favoured_ ? favour(thread) : kFree;
  }
  bool take(Revoking revoking);
  bool looks_free() const;
  bool step_back();
  bool revoke(Revoking revoking);
  void await_favourite();
  std::uint32_t favour(pthread_t thread);
  void end_favour();
  bool favour_comes_back();
  void wake_one();
  void lock_contended();
  void sleep_until_taken();
  void let_others_in();
  void admit_guests_if_free();
  void await_turn_after(std::uint32_t turn);

  std::atomic<std::uint32_t> word_{kFree};
  std::atomic<std::uint32_t> inside_{0};  // the favourite holds the lock, or looks whether it may; written by it alone
  std::atomic<pthread_t> favourite_{kNobody};  // set once
  std::atomic<pthread_t> owner_{kNobody};
  std::atomic<std::uint32_t> waiting_{0};
  std::atomic<std::uint32_t> sleepers_{0};  // of the waiting threads: asleep, or about to be, or guests
  std::atomic<std::uint32_t> turns_{0};     // how often a waiting thread got the lock
  std::atomic<std::uint32_t> handing_{0};   // threads that sleep in hand_over(), or are about to
  std::atomic<bool> guest_waits_{false};    // counted once in waiting_ and sleepers_
  std::atomic<LockGuests*> guests_{nullptr};
  // Of the owner, while the word says kHeld.
  pthread_t last_owner_ = kNobody;
  bool borrowed_ = false;  // from the favourite, which was the last owner
  std::uint32_t turns_in_a_row_ = 0;
  std::uint32_t turns_until_favoured_ = kTurnsUntilFavoured;
};

}  // namespace openlapi
