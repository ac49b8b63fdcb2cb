#include "dataplane/reliability/receive_window.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "dataplane/tuning.h"
#include "dataplane/wire/packet_header.h"

namespace openlapi {

namespace {

// In the place of a buffer: the packet was placed.
std::byte placed;

}  // namespace

ArrivalVerdict ReceiveWindow::offer(Sequence sequence, std::uint16_t ahead, bool ack_wanted, Nanoseconds now) {
  if (ahead >= tuning::kMostPacketsInFlight) return ArrivalVerdict::malformed;
  const Sequence base = sequence - ahead;
  if (before(next_, base)) {
    if (base - next_ > tuning::kMostPacketsGivenUp) return ArrivalVerdict::malformed;
    skip_to(base);
  }
  established_ = true;
  newest_at_ = now;
  if (ack_wanted) ack_now_ = true;

  if (sequence == next_) return ArrivalVerdict::in_order;
  if (!has_come(sequence)) return ArrivalVerdict::early;
  ack_now_ = saw_duplicate_ = true;
  return ArrivalVerdict::duplicate;
}

bool ReceiveWindow::may_keep(Sequence sequence, Nanoseconds now) {
  arrived(now);
  ack_now_ = true;
  return held_count_ < tuning::kMostHeldPackets && make_room_for(sequence - next_);
}

void ReceiveWindow::keep(Sequence sequence, Held packet) {
  held(sequence) = packet;
  if (held_count_++ == 0 || before(farthest_, sequence)) farthest_ = sequence;
}

bool ReceiveWindow::hold(Sequence sequence, std::span<const std::byte> payload, Nanoseconds now) {
  if (!may_keep(sequence, now)) return false;
  if (payload.size() > pool_.buffer_bytes() - wire::kPacketHeaderSize) return false;
  std::byte* const buffer = pool_.take_for_holding();
  if (buffer == nullptr) return false;
  if (!payload.empty()) std::memcpy(buffer + wire::kPacketHeaderSize, payload.data(), payload.size());
  keep(sequence, {.buffer = buffer, .length = static_cast<std::uint32_t>(payload.size())});
  return true;
}

bool ReceiveWindow::place(Sequence sequence, Nanoseconds now) {
  if (!may_keep(sequence, now)) return false;
  keep(sequence, {.buffer = &placed, .length = 0});
  return true;
}

bool ReceiveWindow::make_room_for(std::uint32_t steps) {
  if (steps < capacity_) return true;
  if (steps >= tuning::kMostPacketsInFlight) return false;
  std::uint32_t larger = std::max(capacity_, tuning::kFirstRingSize);
  while (larger <= steps) larger *= 2;
  auto ring = std::make_unique<Held[]>(larger);
  for (std::uint32_t step = 0; step < capacity_; ++step) {
    ring[(next_ + step) & (larger - 1)] = held(next_ + step);
  }
  held_ = std::move(ring);
  capacity_ = larger;
  return true;
}

bool ReceiveWindow::next_held(std::span<std::byte>& payload) const {
  if (held_count_ == 0 || held(next_).buffer == nullptr) return false;
  const Held& packet = held(next_);
  payload = packet.buffer == &placed ? std::span<std::byte>()
                                     : std::span(packet.buffer + wire::kPacketHeaderSize, packet.length);
  return true;
}

void ReceiveWindow::taken(Nanoseconds now) {
  if (held_count_ != 0) [[unlikely]] {
    ack_now_ = true;
    drop_held(next_);
  }
  ++next_;
  arrived(now);
}

void ReceiveWindow::refused() {
  if (held_count_ != 0) drop_held(next_);
}

void ReceiveWindow::arrived(Nanoseconds now) {
  if (unacknowledged_++ == 0) ack_deadline_ = now + tuning::kAckDelay;
}

void ReceiveWindow::drop_held(Sequence sequence) {
  std::byte* const buffer = std::exchange(held(sequence).buffer, nullptr);
  if (buffer == nullptr) return;
  if (buffer != &placed) pool_.give_back(buffer);
  --held_count_;
}

void ReceiveWindow::skip_to(Sequence base) {
  const std::uint32_t steps = std::min(base - next_, capacity_);
  for (std::uint32_t step = 0; step < steps; ++step) drop_held(next_ + step);
  next_ = base;
}

void ReceiveWindow::forget() {
  skip_to(next_ + capacity_);
  established_ = false;
  newest_at_ = 0;
  acknowledged();
}

// Of the 64 packets from next_ + 1 + `first` on.
std::uint64_t ReceiveWindow::selective(std::uint32_t first) const {
  if (held_count_ == 0) return 0;
  std::uint64_t bits = 0;
  const std::uint32_t end = std::min(capacity_ - 1, first + kSelectiveBits);
  for (std::uint32_t bit = first; bit < end; ++bit) {
    if (held(next_ + 1 + bit).buffer != nullptr) bits |= std::uint64_t{1} << (bit - first);
  }
  return bits;
}

std::size_t ReceiveWindow::wider_selective(std::span<std::uint64_t> words) const {
  if (!reaches_beyond_header()) return 0;
  const std::uint32_t bits = farthest_ - next_;
  const std::size_t count = std::min<std::size_t>((bits - 1) / kSelectiveBits, words.size());
  for (std::size_t word = 0; word != count; ++word) {
    words[word] = selective(static_cast<std::uint32_t>(word + 1) * kSelectiveBits);
  }
  return count;
}

std::uint16_t ReceiveWindow::ack_delay(Nanoseconds now) const {
  const Nanoseconds delay = (now - newest_at_) / kMicrosecond;
  return static_cast<std::uint16_t>(std::min<Nanoseconds>(delay, UINT16_MAX));
}

void ReceiveWindow::acknowledged() {
  unacknowledged_ = 0;
  ack_deadline_ = UINT64_MAX;
  ack_now_ = saw_duplicate_ = false;
}

}  // namespace openlapi
