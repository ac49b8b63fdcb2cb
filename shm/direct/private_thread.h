// A thread on a given stack that takes none of the process's signals.
#pragma once

#include <pthread.h>

#include <cstdint>

#include "shm/direct/promotable.h"

namespace openlapi::direct {

class PrivateThread {
 public:
  // Also for the static variables of all libraries; what is not touched costs nothing.
  static constexpr std::uint64_t kStackSize = 2 << 20;

  // `stack` outlives the thread. False: errno says why.
  bool start(const AddressRange& stack, const char* name, void* (*body)(void*), void* argument);

  // Waits for its end, if it was started.
  void join();

 private:
  pthread_t thread_{};
  bool runs_ = false;
};

}  // namespace openlapi::direct
