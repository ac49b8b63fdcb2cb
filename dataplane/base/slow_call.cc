#include "dataplane/base/slow_call.h"

#include <new>
#include <system_error>
#include <utility>

#include "dataplane/base/signals_off.h"

namespace openlapi {

bool SlowCall::begin(std::function<void()> body) {
  done_.store(false, std::memory_order_relaxed);
  const SignalsOff off;
  try {
    thread_ = std::thread([this, body = std::move(body)] {
      body();
      const std::lock_guard guard(mutex_);
      done_.store(true, std::memory_order_release);
      ended_.notify_one();
    });
  } catch (const std::system_error&) {
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

bool SlowCall::over() {
  if (thread_.joinable() && !done_.load(std::memory_order_acquire)) return false;
  wait();
  return true;
}

bool SlowCall::over_within(std::chrono::milliseconds time) {
  if (thread_.joinable()) {
    std::unique_lock guard(mutex_);
    ended_.wait_for(guard, time, [this] { return done_.load(std::memory_order_relaxed); });
  }
  return over();
}

void SlowCall::wait() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace openlapi
