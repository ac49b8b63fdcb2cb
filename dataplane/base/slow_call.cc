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
      done_.store(true, std::memory_order_release);
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

void SlowCall::wait() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace openlapi
