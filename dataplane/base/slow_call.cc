#include "dataplane/base/slow_call.h"

#include <pthread.h>
#include <signal.h>

#include <new>
#include <system_error>
#include <utility>

namespace openlapi {
namespace {

// As long as it exists, and in threads that are begun meanwhile, which inherit it.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

bool SlowCall::begin(std::function<void()> body) {
  done_.store(false, std::memory_order_relaxed);
  const NoSignals no_signals;
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
