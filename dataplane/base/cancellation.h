// Cancelling threads (pthread_cancel). A thread is cancelled only where no work of the engine is half done: in waits,
// with the lock released. Its stack is unwound, so destructors restore whatever a wait has changed, and no function on
// the way is noexcept. Elsewhere cancellation is off around calls that are cancellation points of the C library.
#pragma once

#include <pthread.h>

namespace openlapi {

// While it exists the calling thread is not cancelled.
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

// While it exists the calling thread is cancelled only at cancellation points; afterwards as the thread has chosen.
class CancellationAtPoints {
 public:
  CancellationAtPoints() { pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before_); }
  ~CancellationAtPoints() noexcept(false) {  // the thread may be cancelled here
    if (before_ != PTHREAD_CANCEL_DEFERRED) pthread_setcanceltype(before_, nullptr);
  }
  CancellationAtPoints(const CancellationAtPoints&) = delete;
  CancellationAtPoints& operator=(const CancellationAtPoints&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_DEFERRED;
};

}  // namespace openlapi
