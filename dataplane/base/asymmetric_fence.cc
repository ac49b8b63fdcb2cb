#include "dataplane/base/asymmetric_fence.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace openlapi {

namespace {

bool process_barrier(int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; }

}  // namespace

const bool kHasProcessBarrier = process_barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);

void heavy_fence() {
  if (!kHasProcessBarrier || !process_barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

}  // namespace openlapi
