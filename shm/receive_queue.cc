#include "shm/receive_queue.h"

namespace openlapi::shm {

namespace {

constexpr std::uint32_t kVoidLength = UINT16_MAX;  // longer than any packet

}  // namespace

void ReceiveQueue::close(std::uint32_t source) {
  const std::uint64_t era = era_of(source);
  senders_[make_sender(source, era)] = kUnknownPeer;
  // Sequentially consistent: comes before whatever this task does with memory that it takes back from the sender's
  // reach, pairs with ShmRemoteMemory::same_era(); and before the look at what the sender has begun, pairs with
  // begin_era().
  std::uint64_t next = closed_era(era);
  eras_[source].store(next, std::memory_order_seq_cst);
  const std::uint64_t begun = sender_lines_[source].begun.load(std::memory_order_seq_cst);
  if (make_sender(source, next) == make_sender(source, begun)) {
    next = closed_era(next);
    eras_[source].store(next, std::memory_order_seq_cst);
  }
  void_packets_of(source);
}

void ReceiveQueue::open_as(std::uint32_t source, std::uint64_t era) {
  // Release: the sender may send as soon as it sees it; the table is ours alone.
  eras_[source].store(era, std::memory_order_release);
  admit(source);
}

// An announced slot is its receiver's until it is given back.
void ReceiveQueue::void_packets_of(std::uint32_t source) {
  const std::uint64_t end = header_->tail.load(std::memory_order_acquire);
  for (std::uint64_t ticket = next_; ticket != end; ++ticket) {
    std::atomic<std::uint64_t>& word = lines_[ticket & mask_].control;
    const std::uint64_t control = word.load(std::memory_order_acquire);
    if (control_sequence(control) != static_cast<std::uint32_t>(ticket + 1)) continue;
    if (sender_source(control_sender(control)) != source) continue;
    word.store(make_control(ticket, source, kVoidLength), std::memory_order_relaxed);
  }
}

void ReceiveQueue::pass_over() {
  if (released_ == next_) {
    released_ = ++next_;
    return;
  }
  holes_[next_ & mask_] = true;
  ++hole_count_;
  ++next_;
}

// No hole is the first of what is to be given back: pass_over() marks only what lies behind a held packet.
void ReceiveQueue::release_around_holes(std::size_t count) {
  for (; count != 0; --count) {
    ++released_;
    while (holes_[released_ & mask_]) {
      holes_[released_ & mask_] = false;
      --hole_count_;
      ++released_;
    }
  }
}

// Whether the claimed, unannounced slot next_ has no living owner. A sender's intent covers its tickets from before its
// claim is visible until after their publication, so the owner is among those whose intent covers the ticket: alive, we
// wait for it; otherwise, and if the slot is still not announced after we looked, nobody will ever announce it.
bool ReceiveQueue::orphaned(const std::function<bool(std::uint32_t)>& gone) const {
  bool owner_dead = false;
  for (std::uint32_t source = 0; source < tasks_.size(); ++source) {
    // Acquire: pairs with the releases in SendQueue; a cleared intent shows us the publication.
    const std::uint64_t intent = sender_lines_[source].claim.load(std::memory_order_acquire);
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
