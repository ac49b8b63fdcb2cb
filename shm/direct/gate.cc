#include "shm/direct/gate.h"

#include <linux/membarrier.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "dataplane/base/check.h"
#include "dataplane/base/file_descriptor.h"
#include "dataplane/base/monotonic_clock.h"

namespace openlapi::direct {
namespace {

constexpr int kLooksBeforeAsking = 64;  // at an accessor, before the kernel is asked whether it lives

bool global_barrier(int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; }

FileDescriptor open_process(pid_t process) {
  return FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
}

}  // namespace

bool can_use_global_barrier() {
  return global_barrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) && global_barrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

// Begins with the first accessor that is inside: mostly none is, and the clock is left alone.
class Gate::Patience {
 public:
  bool is_over() {
    const Nanoseconds now = system_monotonic_time();
    if (end_ == 0) end_ = now + kPatience;
    return now >= end_;
  }

 private:
  Nanoseconds end_ = 0;
};

Gate::Gate(const ControlMemory& control)
    : control_(control), processes_(control.accessors()), left_behind_(control.accessors()) {}

void Gate::admit(std::uint32_t accessor, pid_t process) {
  const bool has_ended = !open_process(process).is_open() && errno == ESRCH;
  processes_[accessor] = has_ended ? 0 : process;
}

// A descriptor is taken for a moment only: a task has many neighbours. Without one it is taken to live.
bool Gate::has_ended(std::uint32_t accessor) const {
  if (processes_[accessor] == 0) return false;
  const FileDescriptor process = open_process(processes_[accessor]);
  if (!process.is_open()) return errno == ESRCH;
  pollfd ended = {process.get(), POLLIN, 0};
  return poll(&ended, 1, 0) == 1;
}

void Gate::begin_closing() {
  shut();
  if (control_.header().barrier != 0) {
    OPENLAPI_CHECK(global_barrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED));
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

bool Gate::leaves(std::uint32_t accessor, Patience* patience) const {
  const std::atomic<std::uint64_t>& busy = control_.line(accessor).busy;
  for (int looks = 1;; ++looks) {
    const std::uint64_t inside = busy.load(std::memory_order_acquire);
    if (inside == 0 || inside == left_behind_[accessor]) return true;
    if (looks % kLooksBeforeAsking == 0) {
      if (has_ended(accessor)) return true;
      if (patience != nullptr && patience->is_over()) return false;
    }
    sched_yield();
  }
}

void Gate::close() {
  begin_closing();
  for (std::uint32_t accessor = 0; accessor < control_.accessors(); ++accessor) {
    static_cast<void>(leaves(accessor, nullptr));
  }
}

bool Gate::try_close() {
  begin_closing();
  Patience patience;
  bool all = true;
  for (std::uint32_t accessor = 0; accessor < control_.accessors(); ++accessor) {
    all = leaves(accessor, &patience) && all;
  }
  return all;
}

bool Gate::close_to(std::uint32_t accessor) {
  begin_closing();
  Patience patience;
  return leaves(accessor, &patience);
}

void Gate::await_others(std::uint32_t accessor) const {
  for (std::uint32_t other = 0; other < control_.accessors(); ++other) {
    if (other != accessor) static_cast<void>(leaves(other, nullptr));
  }
}

// One that has not said yet in which generation it is will be waited for again.
void Gate::leave_behind(std::uint32_t accessor) {
  const std::uint64_t inside = control_.line(accessor).busy.load(std::memory_order_acquire);
  left_behind_[accessor] = inside == kEntering ? 0 : inside;
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
