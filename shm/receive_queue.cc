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

// Of the claimed, unannounced slot next_. A sender's intent covers its tickets from before its claim is visible until
// after their publication, so the owner is among those whose intent covers the ticket: alive, we wait for it.
// Otherwise, if the slot is still not announced after we looked: if all are dead, nobody will ever announce it; if some
// live and have not begun the present era, what they may still announce is void. `claim` is one of theirs.
ReceiveQueue::Owner ReceiveQueue::owner(const std::function<bool(std::uint32_t)>& gone, std::uint64_t& claim) const {
  bool found = false, only_given_up = false;
  for (std::uint32_t source = 0; source < tasks_.size(); ++source) {
    // Acquire: pairs with the releases in SendQueue; a cleared intent shows us the publication.
    const std::uint64_t intent = sender_lines_[source].claim.load(std::memory_order_acquire);
    if (!intent_covers(intent, next_)) continue;
    found = true;
    if (gone(source)) continue;
    if (has_begun(source)) return Owner::living;
    only_given_up = true;
    claim = intent;
  }
  if (!found || waiting()) return Owner::living;
  return only_given_up ? Owner::given_up : Owner::dead;
}

// Relaxed: whoever has seen a claim of the source's sees the era that it had begun before.
bool ReceiveQueue::has_begun(std::uint32_t source) const {
  const std::uint64_t begun = sender_lines_[source].begun.load(std::memory_order_relaxed);
  return era_number(begun) == era_number(era_of(source));
}

std::size_t ReceiveQueue::skip_orphans(const std::function<bool(std::uint32_t)>& gone) {
  std::size_t skipped = 0;
  while (pass_withheld() && !waiting() && claimed()) {
    std::uint64_t claim = 0;
    const Owner found = owner(gone, claim);
    if (found == Owner::living) break;
    if (found == Owner::given_up && (claim != overdue_claim_ || !withhold())) break;  // a claim's tickets go together
    pass_over();
    ++dropped_;
    ++skipped;
  }
  if (released_ != published_) publish_head();  // the task may go to sleep now
  return skipped;
}

std::size_t ReceiveQueue::look_at_turn(const std::function<bool(std::uint32_t)>& gone) {
  const std::size_t orphans = skip_orphans(gone);
  std::uint64_t claim = 0;
  const bool given_up = pass_withheld() && !waiting() && claimed() && owner(gone, claim) == Owner::given_up;
  overdue_claim_ = given_up && claim == given_up_claim_ ? claim : 0;
  given_up_claim_ = given_up ? claim : 0;
  return overdue_claim_ != 0 ? orphans + skip_orphans(gone) : orphans;
}

// The slot next_ is never used again. Relaxed: whoever reads it has seen a later head (publish_head()).
bool ReceiveQueue::withhold() {
  if (withheld_count_ > mask_ / 2) return false;
  const std::uint64_t slot = next_ & mask_;
  withheld_bits_[slot / 64].fetch_or(std::uint64_t{1} << slot % 64, std::memory_order_relaxed);
  header_->withheld.store(++withheld_count_, std::memory_order_relaxed);
  return true;
}

// Whoever owns a ticket of a withheld slot announces nothing there; what stands there is of before. False: the next
// packet's slot is withheld, and nobody has claimed it yet.
bool ReceiveQueue::pass_withheld() {
  while (is_withheld(next_)) {
    if (!claimed()) return false;
    pass_over();
  }
  return true;
}

ReceiveQueue::Holder ReceiveQueue::holder(const std::function<bool(std::uint32_t)>& gone) const {
  if (waiting() || !claimed()) return {};
  for (std::uint32_t source = 0; source < tasks_.size(); ++source) {
    const std::uint64_t intent = sender_lines_[source].claim.load(std::memory_order_acquire);
    if (intent_covers(intent, next_) && has_begun(source) && !gone(source)) return {source, next_};
  }
  return {};
}

}  // namespace openlapi::shm
