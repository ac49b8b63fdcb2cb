// A mutex that costs a branch while one thread is alone.
#pragma once

#include <mutex>

namespace openlapi::rpi {

// For std::lock_guard and std::unique_lock.
class OptionalMutex {
 public:
  // Before there is a second thread: it is locked from now on, or not.
  void use(bool used) { used_ = used; }
  bool is_used() const { return used_; }

  void lock() {
    if (used_) mutex_.lock();
  }
  void unlock() {
    if (used_) mutex_.unlock();
  }

 private:
  std::mutex mutex_{};
  bool used_ = false;
};

// Whether several threads call lam_ssi_rpi_cbuf_ functions at the same time (MPI_THREAD_MULTIPLE).
void share_unexpected_messages(bool among_threads);

}  // namespace openlapi::rpi
