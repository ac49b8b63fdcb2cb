#include "shm/receive_queue.h"

namespace openlapi::shm {

void ReceiveQueue::pass_over() {
  if (released_ == next_) {
    released_ = ++next_;
    return;
  }
  holes_[next_ & mask_] = true;
  ++hole_count_;
  ++next_;
}

void ReceiveQueue::release_around_holes(std::size_t count) {
  const auto step_over_holes = [this] {
    while (hole_count_ != 0 && released_ != next_ && holes_[released_ & mask_]) {
      holes_[released_ & mask_] = false;
      --hole_count_;
      ++released_;
    }
  };
  step_over_holes();
  for (; count != 0; --count) {
    ++released_;
    step_over_holes();
  }
}

// Whether the claimed, unannounced slot next_ has no living owner. A sender's intent covers its tickets from before its
// claim is visible until after their publication, so the owner is among those whose intent covers the ticket: alive, we
// wait for it; otherwise, and if the slot is still not announced after we looked, nobody will ever announce it.
bool ReceiveQueue::orphaned(const std::function<bool(std::uint32_t)>& gone) const {
  bool owner_dead = false;
  for (std::uint32_t source = 0; source < tasks_.size(); ++source) {
    // Acquire: pairs with the releases in SendQueue; a cleared intent shows us the publication.
    const std::uint64_t intent = front_->intents[source].claim.load(std::memory_order_acquire);
    if (!intent_covers(intent, next_)) continue;
    if (!gone(source)) return false;
    owner_dead = true;
  }
  return owner_dead && !waiting();
}

std::size_t ReceiveQueue::skip_orphans(const std::function<bool(std::uint32_t)>& gone) {
  std::size_t skipped = 0;
  while (!waiting() && claimed() && orphaned(gone)) {
    pass_over();
    ++dropped_;
    ++skipped;
  }
  return skipped;
}

}  // namespace openlapi::shm
