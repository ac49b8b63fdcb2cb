#include "dataplane/base/slow_call.h"

#include <pthread.h>
#include <signal.h>

#include <system_error>
#include <utility>

namespace openlapi {

bool SlowCall::begin(std::function<void()> body) {
  done_.store(false, std::memory_order_relaxed);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the thread inherits it
  bool began = true;
  try {
    thread_ = std::thread([this, body = std::move(body)] {
      body();
      done_.store(true, std::memory_order_release);
    });
  } catch (const std::system_error&) {
    began = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return began;
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
