#include "api/lock/context_lock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

#include "dataplane/poller/backoff.h"

namespace openlapi {

namespace {

constexpr int kSpins = 100;
constexpr int kHandOverPauses = 64;
constexpr timespec kLongestHandOver{0, 100'000'000};

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, const timespec* longest = nullptr) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, longest, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>& word, int threads) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
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
  // Either we see who hands over, or it sees that the turn is over.
  turns_.fetch_add(1, std::memory_order_seq_cst);
  if (handing_.load(std::memory_order_seq_cst) != 0) futex_wake(turns_, INT_MAX);
}

void ContextLock::sleep_until_taken() {
  sleepers_.fetch_add(1, std::memory_order_relaxed);
  // Whoever frees the lock from here on wakes one of us.
  heavy_fence();
  while (!take()) futex_wait(word_, kHeld);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

// What guests have left first: threads that come later shall find it done.
void ContextLock::let_others_in() {
  admit_guests_if_free();
  if (sleepers_.load(std::memory_order_relaxed) != 0) futex_wake(word_, 1);
}

void ContextLock::announce_guest() {
  // Release: whoever admits sees what was left. Whoever has announced before looks whether the lock is free after this.
  if (guest_waits_.exchange(true, std::memory_order_acq_rel)) return;
  waiting_.fetch_add(1, std::memory_order_relaxed);
  sleepers_.fetch_add(1, std::memory_order_relaxed);
  // Either the lock is seen to be free, or whoever frees it sees the guest.
  heavy_fence();
  admit_guests_if_free();
  if (sleepers_.load(std::memory_order_relaxed) != 0) futex_wake(word_, 1);
}

void ContextLock::guests_admitted() {
  if (!guest_waits_.exchange(false, std::memory_order_acq_rel)) return;
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

// Another owner than this thread admits them when it frees the lock.
void ContextLock::admit_guests_if_free() {
  while (guest_waits_.load(std::memory_order_relaxed) && try_lock()) {
    guests_.load(std::memory_order_relaxed)->admit_guests();
    set_free();
    light_fence();
  }
}

void ContextLock::hand_over() {
  const std::uint32_t turn = turns_.load(std::memory_order_relaxed);
  unlock();
  for (int pauses = 0; wanted() && turns_.load(std::memory_order_relaxed) == turn; ++pauses) {
    if (pauses == kHandOverPauses) {
      await_turn_after(turn);
      break;
    }
    cpu_pause();
  }
  lock();
}

void ContextLock::await_turn_after(std::uint32_t turn) {
  handing_.fetch_add(1, std::memory_order_seq_cst);
  futex_wait(turns_, turn, &kLongestHandOver);
  handing_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace openlapi
