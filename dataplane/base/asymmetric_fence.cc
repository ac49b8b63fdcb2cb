#include "dataplane/base/asymmetric_fence.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace openlapi {

namespace {

bool process_barrier(int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; }

}  // namespace

const bool kHasProcessBarrier = process_barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);

bool still_has_process_barrier() { return kHasProcessBarrier && process_barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED); }

// Other threads have had light fences so far, which are worth nothing without it: whoever goes on corrupts memory.
void heavy_fence() {
  if (!kHasProcessBarrier) return std::atomic_thread_fence(std::memory_order_seq_cst);
  while (!process_barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) {
    if (errno == ENOMEM) continue;  // for a moment: of a set of processors
    std::fprintf(stderr,
                 "openlapi: membarrier(2), which this process could use when it loaded the library, fails now (%s): a "
                 "sandbox that begins later has to allow it\n",
                 std::strerror(errno));
    std::abort();
  }
}

}  // namespace openlapi
