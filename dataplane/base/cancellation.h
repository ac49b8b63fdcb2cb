// Cancelling threads (pthread_cancel). A thread ends where nothing of the engine's is half done: in waits, with the
// lock released. It leaves by unwinding its stack, so whatever a wait has changed is put back by destructors, and no
// function on the way is noexcept. Elsewhere cancellation is off around what is a cancellation point of the C library.
#pragma once

#include <pthread.h>

namespace openlapi {

// While it lives the calling thread is not cancelled.
class CancellationOff {
 public:
  CancellationOff() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~CancellationOff() {
    if (before_ != PTHREAD_CANCEL_DISABLE) pthread_setcancelstate(before_, nullptr);
  }
  CancellationOff(const CancellationOff&) = delete;
  CancellationOff& operator=(const CancellationOff&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

// While it lives the calling thread is cancelled at cancellation points only; afterwards as it has asked for.
class CancellationAtPoints {
 public:
  CancellationAtPoints() { pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before_); }
  ~CancellationAtPoints() noexcept(false) {  // it may be cancelled here
    if (before_ != PTHREAD_CANCEL_DEFERRED) pthread_setcanceltype(before_, nullptr);
  }
  CancellationAtPoints(const CancellationAtPoints&) = delete;
  CancellationAtPoints& operator=(const CancellationAtPoints&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_DEFERRED;
};

}  // namespace openlapi
