#include "nic/verbs/ring_to_peer.h"

#include <algorithm>

namespace openlapi::verbs {

RingPlace RingToPeer::next_control(ibv_pd& memory) {
  constexpr int kRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  ask_later();  // the question, or the answer, may be lost
  if (!has_memory_) has_memory_ = memory_.open(memory, kRingsOfConnection * sizeof(RingControl), kRights) == 0;
  if (!has_memory_) return {};
  if (was_given_back()) go_to_next();  // its grant was lost
  if (ring_ == kRingsOfConnection) return {};
  return {reinterpret_cast<std::uintptr_t>(&control()), memory_.remote_key()};
}

void RingToPeer::grant(const RingPlace& slots, std::uint8_t ring) {
  if (granted_ || !has_memory_ || ring != ring_ || ring_ == kRingsOfConnection) return;
  const auto control_address = reinterpret_cast<std::uintptr_t>(&control());
  slots_ = slots;
  writer_ = SlotWriter(ring_epoch(connection_, control_address));
  granted_ = true;
}

// next_control() has seen to the next time.
void RingToPeer::refuse(std::uint8_t ring) {
  if (!granted_ && ring == ring_) refusals_ = std::min(refusals_ + 1, kMostDoublings);
}

void RingToPeer::ask_later() { until_asking_ = again_ << refusals_; }

void RingToPeer::go_to_next() {
  granted_ = false;
  refuse(ring());
  ask_later();
  if (++ring_ == kRingsOfConnection) until_asking_ = 0;
}

bool RingToPeer::compose(const OutgoingPacket& packet, SlotImage& image) {
  RingControl& words = control();
  const auto state = static_cast<RingState>(words.state.load(std::memory_order_acquire));
  if (state == RingState::given_back) [[unlikely]] {
    go_to_next();
    return false;
  }
  if (state != RingState::open || !writer_.has_room(words.taken.load(std::memory_order_acquire))) return false;
  words.written.store(writer_.written() + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // ring_control.h: before the look at the state
  if (words.state.load(std::memory_order_relaxed) != static_cast<std::uint32_t>(RingState::open)) [[unlikely]] {
    words.written.store(writer_.written(), std::memory_order_release);
    return false;
  }
  writer_.compose(packet, image);
  writer_.next();
  return true;
}

}  // namespace openlapi::verbs
