#include "shm/direct/gate.h"

#include <linux/membarrier.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "dataplane/base/check.h"

namespace openlapi::direct {
namespace {

constexpr int kLooksBeforeAsking = 64;  // at an accessor, before the kernel is asked whether it lives

bool global_barrier(int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; }

}  // namespace

bool can_use_global_barrier() {
  return global_barrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) && global_barrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

Gate::Gate(const ControlMemory& control) : control_(control), processes_(control.accessors()) {}

void Gate::admit(std::uint32_t accessor, FileDescriptor process) { processes_[accessor] = std::move(process); }

bool Gate::has_ended(std::uint32_t accessor) const {
  pollfd process = {processes_[accessor].get(), POLLIN, 0};
  return process.fd >= 0 && poll(&process, 1, 0) == 1;
}

void Gate::close() {
  shut();
  if (control_.header().barrier != 0) {
    OPENLAPI_CHECK(global_barrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED));
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  for (std::uint32_t accessor = 0; accessor < control_.accessors(); ++accessor) {
    const std::atomic<std::uint64_t>& busy = control_.line(accessor).busy;
    for (int looks = 1; busy.load(std::memory_order_acquire) != 0; ++looks) {
      if (looks % kLooksBeforeAsking == 0 && has_ended(accessor)) break;
      sched_yield();
    }
  }
}

void Gate::open() {
  std::atomic<std::uint64_t>& generation = control_.header().generation;
  std::uint64_t before = generation.load(), after = 0;
  do {
    OPENLAPI_CHECK(is_closed(before));
    after = before - 1;
    if (!is_closed(after)) after += kCloserMask + 1;
  } while (!generation.compare_exchange_weak(before, after));
}

Entrance::Entrance(const ControlMemory& control, std::uint32_t accessor)
    : header_(control.header()),
      line_(control.line(accessor)),
      fence_(!can_use_global_barrier() || header_.barrier == 0) {
  line_.busy.store(0);
}

}  // namespace openlapi::direct
