// Sleeping and waking. The owner of a queue stores an odd number in its `armed`, looks at the queue once more, and
// sleeps on its socket; a sender publishes, then looks at `armed`, and sends one byte if it is odd.
//
// At least one of the two must see the other's store. That needs a full barrier between store and load on both sides.
// Senders are many and in a hurry, so the owner pays for both: after storing `armed` it has the kernel run a barrier on
// every processor that runs a task of the group (membarrier, global expedited; all tasks registered at set-up). Then
// either the sender's load of `armed` came after it, and it rings, or its publication came before, and our second look
// finds it. The sender only keeps the compiler from swapping its store and load. If any task could not register, all
// senders use a real fence, decided at set-up for the whole group.
//
// A sender rings first and makes `armed` even afterwards: should it die in between, others ring again. It does so only
// if `armed` still is the value it saw, so that a late sender cannot disarm the owner's next sleep.
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shm/shm_transport.h"

namespace openlapi {

ShmDoorbell::ShmDoorbell(shm::ShmGroup& group, shm::ReceiveQueue& queue)
    : group_(group), queue_(queue), fence_(!group.sends_without_fence()) {}

bool ShmDoorbell::arm() {
  std::atomic<std::uint32_t>& armed = group_.segment(group_.self()).front->header.armed;
  epoch_ = (epoch_ + 1) | 1;
  armed.store(epoch_, std::memory_order_seq_cst);
  if (fence_) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  } else {
    syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
  }
  // A slot that is claimed and not announced belongs to a sender that is about to ring, or that died: nobody would
  // ring for what waits behind it. So sleep only when nothing is claimed.
  if (!queue_.waiting()) {
    if (!queue_.claimed()) return true;
    queue_.skip_orphans([this](std::uint32_t index) { return group_.gone(index); });
    if (!queue_.waiting() && !queue_.claimed()) return true;
  }
  disarm();
  return false;
}

void ShmDoorbell::disarm() {
  epoch_ = (epoch_ + 1) & ~1u;
  group_.segment(group_.self()).front->header.armed.store(epoch_, std::memory_order_relaxed);
  group_.socket().drain();
}

void ShmDoorbell::ring(std::uint32_t index, std::uint32_t armed) {
  if (!group_.socket().ring(index)) return;  // no memory for a byte: the next sender tries again
  group_.segment(index).front->header.armed.compare_exchange_strong(armed, armed + 1, std::memory_order_relaxed);
}

}  // namespace openlapi
