// Part of lapi.hpp: the lock of a context, shared with the program (LAPI_GET_THREAD_FUNC). What its holder may do is
// said in lapi.h.
#pragma once

#include "lapi_basics.hpp"

#include <chrono>

namespace lapi {

// The lock, for std::scoped_lock and std::unique_lock; copies are the same lock. Not after the context has ended.
class Mutex {
 public:
  explicit Mutex(lapi_handle_t handle)
      : handle_(handle), calls_(detail::utility(handle, &lapi_util_t::ThreadFunc, LAPI_GET_THREAD_FUNC, {})) {}

  void lock() { detail::check(calls_.mutex_lock(handle_), "mutex_lock"); }
  // Throws nothing: std::unique_lock unlocks while an error goes up, as that of a wait whose context has ended.
  void unlock() noexcept { calls_.mutex_unlock(handle_); }
  bool try_lock() {
    const int code = calls_.mutex_trylock(handle_);
    detail::check(code == EBUSY ? LAPI_SUCCESS : code, "mutex_trylock");
    return code == LAPI_SUCCESS;
  }
  // LAPI_NULL_THREAD_ID: nobody.
  pthread_t owner() const {
    pthread_t thread{};
    detail::check(calls_.mutex_getowner(handle_, &thread), "mutex_getowner");
    return thread;
  }

 private:
  friend class Condition;

  lapi_handle_t handle_;
  lapi_thread_func_t calls_;
};

// A condition variable of that lock, which who waits holds. It makes no progress in communication.
class Condition {
 public:
  explicit Condition(const Mutex& mutex) : mutex_(mutex) {
    detail::check(mutex_.calls_.cond_init(mutex_.handle_, &condition_), "cond_init");
  }
  ~Condition() { mutex_.calls_.cond_destroy(mutex_.handle_, &condition_); }
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  void wait() { detail::check(mutex_.calls_.cond_wait(mutex_.handle_, &condition_), "cond_wait"); }
  template <class Predicate>
  void wait(Predicate holds) {
    while (!holds()) wait();
  }
  // False: the moment came first.
  bool wait_until(std::chrono::system_clock::time_point moment) {
    using namespace std::chrono;
    const auto whole = floor<seconds>(moment);
    timespec end{};
    end.tv_sec = static_cast<time_t>(whole.time_since_epoch().count());
    end.tv_nsec = static_cast<long>(duration_cast<nanoseconds>(moment - whole).count());
    const int code = mutex_.calls_.cond_timedwait(mutex_.handle_, &condition_, &end);
    detail::check(code == ETIMEDOUT ? LAPI_SUCCESS : code, "cond_timedwait");
    return code == LAPI_SUCCESS;
  }
  void notify_one() { detail::check(mutex_.calls_.cond_signal(mutex_.handle_, &condition_), "cond_signal"); }

 private:
  Mutex mutex_;
  lapi_cond_t condition_{};
};

}  // namespace lapi
