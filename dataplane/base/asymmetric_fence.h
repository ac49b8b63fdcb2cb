// A pair of fences for two threads of one process that each write one word and then read the other's, where one thread
// does so very often and the other rarely: membarrier(2) lets the rare side pay for both. If the kernel or a sandbox
// refuses it, both are full fences.
#pragma once

#include <atomic>

namespace openlapi {

// Whether this process may use membarrier(2). Set while the library is loaded.
extern const bool kHasProcessBarrier;

// Whether it still may: a program may have begun a sandbox since. A system call.
bool still_has_process_barrier();

// For the side that runs often: keeps the compiler from moving a later read before an earlier write; heavy_fence() does
// the same for the processor.
inline void light_fence() {
  if (kHasProcessBarrier) [[likely]] {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

// For the other side: every thread of the process executes a full fence before this returns. A system call.
void heavy_fence();

}  // namespace openlapi
