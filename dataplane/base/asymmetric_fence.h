// A pair of fences for two threads of one process that each write one word and then read the other's, of which one does
// so all the time and the other seldom: membarrier(2) lets the seldom one pay for both. Where the kernel refuses it (or
// in a sandbox that does), both are full fences.
#pragma once

#include <atomic>

namespace openlapi {

// Whether this process may use membarrier(2). Set while the library is loaded.
extern const bool kHasProcessBarrier;

// For the side that runs often: keeps the compiler from moving a later read before an earlier write, and the processor
// as far as heavy_fence() sees to it.
inline void light_fence() {
  if (kHasProcessBarrier) [[likely]] {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

// For the other side: every thread of the process passes a full fence before this returns. A system call.
void heavy_fence();

}  // namespace openlapi
