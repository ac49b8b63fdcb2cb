// Sleeping and waking. The owner of a queue stores an odd number in its `armed`, looks at `tail` once more, and sleeps
// on its socket; a sender moves `tail`, publishes, then looks at `armed`, and sends one byte if it is odd.
//
// At least one of the two must see the other's store. All four accesses are sequentially consistent: if the owner's
// load of `tail` does not see the sender's claim, it comes before it in their one order, and so the owner's store of
// `armed`, which is before that load, is seen by the sender's load, which is after the claim. The claim is a locked
// instruction anyway, so this costs the sender one plain load and the owner one exchange; no fence, no membarrier.
//
// Neighbours that move a counter directly do the same with a word of theirs (shm_direct_memory.cc) in place of `tail`.
//
// A sender rings first and makes `armed` even afterwards: should it die in between, others ring again. It does so only
// if `armed` still is the value it saw, so that a late sender cannot disarm the owner's next sleep.
#include "shm/shm_transport.h"

namespace openlapi {

ShmDoorbell::ShmDoorbell(shm::ShmGroup& group, shm::ReceiveQueue& queue) : group_(group), queue_(queue) {}

bool ShmDoorbell::arm() {
  std::atomic<std::uint32_t>& armed = group_.segment(group_.self()).header->armed;
  group_.socket().drain();  // of rings for the sleep before; not when that ended, with a message to be taken
  epoch_ = (epoch_ + 1) | 1;
  armed.store(epoch_, std::memory_order_seq_cst);
  // A slot that is claimed and not announced belongs to a sender that is about to ring, or that died: nobody would
  // ring for what waits behind it. So sleep only when nothing is claimed.
  const bool heeded = heeded_ != nullptr && heeded_->load(std::memory_order_seq_cst) != 0;
  if (!heeded && !queue_.waiting()) {
    if (!queue_.claimed()) return true;
    queue_.skip_orphans([this](std::uint32_t index) { return group_.gone(index); });
    if (!queue_.waiting() && !queue_.claimed()) return true;
  }
  disarm();
  return false;
}

void ShmDoorbell::disarm() {
  epoch_ = (epoch_ + 1) & ~1u;
  group_.segment(group_.self()).header->armed.store(epoch_, std::memory_order_relaxed);
}

void ShmDoorbell::ring(std::uint32_t index, std::uint32_t armed) {
  if (!group_.socket().ring(index)) return;  // no memory for a byte: the next sender tries again
  group_.segment(index).header->armed.compare_exchange_strong(armed, armed + 1, std::memory_order_relaxed);
}

}  // namespace openlapi
