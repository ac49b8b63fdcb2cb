#include "api/lock/context_lock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>
#include <utility>

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
    taken = take(Revoking::waits);
    if (!taken) cpu_pause();
  }
  if (!taken) sleep_until_taken();
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  // Either we see who hands over, or it sees that the turn is over.
  turns_.fetch_add(1, std::memory_order_seq_cst);
  if (handing_.load(std::memory_order_seq_cst) != 0) futex_wake(turns_, INT_MAX);
}

bool ContextLock::take(Revoking revoking) {
  switch (word_.load(std::memory_order_relaxed)) {
    case kFree:
      return take_free();
    case kFavoured:
      return favourite_.load(std::memory_order_relaxed) == this_thread() ? enter() : revoke(revoking);
    default:
      return false;
  }
}

// The favourite that leaves or steps back, and another one that lets it stay, may have kept each other out.
bool ContextLock::looks_free() const {
  const std::uint32_t seen = word_.load(std::memory_order_relaxed);
  return seen == kFree || (seen == kFavoured && inside_.load(std::memory_order_relaxed) == 0);
}

void ContextLock::sleep_until_taken() {
  sleepers_.fetch_add(1, std::memory_order_relaxed);
  // Whoever frees the lock from here on wakes one of us.
  heavy_fence();
  for (;;) {
    // Before the attempt: what has changed since then is not slept through.
    const std::uint32_t seen = word_.load(std::memory_order_relaxed);
    if (take(Revoking::waits)) break;
    if (seen == kHeld || seen == kRevoked) futex_wait(word_, seen);
  }
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

// For the favourite, which was not let in. Whoever revokes may wait for it.
bool ContextLock::step_back() {
  inside_.store(0, std::memory_order_release);
  light_fence();
  if (sleepers_.load(std::memory_order_relaxed) != 0) futex_wake(inside_, 1);
  return take_free();
}

// For others than the favourite. False: another one was faster, or the favourite is inside and stays the favourite.
bool ContextLock::revoke(Revoking revoking) {
  std::uint32_t expected = kFavoured;
  // Acquire: what one who has borrowed the lock did.
  if (!word_.compare_exchange_strong(expected, kRevoked, std::memory_order_acquire, std::memory_order_relaxed)) {
    return false;
  }
  // From here on the favourite sees that it may not enter, or is seen inside.
  heavy_fence();
  if (inside_.load(std::memory_order_acquire) != 0) {
    if (revoking != Revoking::waits) {
      word_.store(kFavoured, std::memory_order_relaxed);
      // Either the favourite sees that it may come again, or is seen to have left (looks_free()).
      heavy_fence();
      return false;
    }
    await_favourite();
  }
  borrowed_ = revoking == Revoking::for_a_turn;
  if (!borrowed_) end_favour();
  word_.store(kHeld, std::memory_order_relaxed);
  tell_acquire(this);
  return true;
}

void ContextLock::end_favour() {
  turns_until_favoured_ = std::min(2 * turns_until_favoured_, kMostTurnsUntilFavoured);
  turns_in_a_row_ = 0;
}

// After a turn of another thread than the last owner, or one that others have waited for.
bool ContextLock::favour_comes_back() {
  if (!std::exchange(borrowed_, false)) return false;
  if (!wanted()) return true;
  end_favour();
  return false;
}

void ContextLock::await_favourite() {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (inside_.load(std::memory_order_acquire) == 0) return;
    cpu_pause();
  }
  sleepers_.fetch_add(1, std::memory_order_relaxed);
  // The favourite wakes us when it leaves from here on.
  heavy_fence();
  while (inside_.load(std::memory_order_acquire) != 0) futex_wait(inside_, 1);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

// Without a barrier for all threads the favourite would have one of its own, which costs as much as an exchange.
std::uint32_t ContextLock::favour(pthread_t thread) {
  const pthread_t favourite = favourite_.load(std::memory_order_relaxed);
  turns_in_a_row_ = 0;
  if ((favourite != kNobody && favourite != thread) || !still_has_process_barrier()) return kFree;
  favourite_.store(thread, std::memory_order_relaxed);
  return kFavoured;
}

// What guests have left first: threads that come later shall find it done.
void ContextLock::let_others_in() {
  admit_guests_if_free();
  if (sleepers_.load(std::memory_order_relaxed) != 0) wake_one();
}

// Whoever revokes is the next owner, and the only one that waits for the favourite.
void ContextLock::wake_one() { futex_wake(word_.load(std::memory_order_relaxed) == kRevoked ? inside_ : word_, 1); }

void ContextLock::announce_guest() {
  // Release: whoever admits sees what was left. Whoever has announced before looks whether the lock is free after this.
  if (guest_waits_.exchange(true, std::memory_order_acq_rel)) return;
  waiting_.fetch_add(1, std::memory_order_relaxed);
  sleepers_.fetch_add(1, std::memory_order_relaxed);
  // Either the lock is seen to be free, or whoever frees it sees the guest.
  heavy_fence();
  admit_guests_if_free();
  if (sleepers_.load(std::memory_order_relaxed) != 0) wake_one();
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
