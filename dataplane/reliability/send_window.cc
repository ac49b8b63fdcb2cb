#include "dataplane/reliability/send_window.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "dataplane/base/check.h"

namespace openlapi {

namespace {

constexpr Sequence kSelectiveBits = 64;  // of a word
constexpr Sequence kSequencesNear = 1u << 16;

}  // namespace

SendWindow::~SendWindow() {
  for (Sequence sequence = oldest_; sequence != next_; ++sequence) {
    if (std::byte* buffer = slot(sequence).buffer; buffer != nullptr) pool_.give_back(buffer);
  }
}

std::byte* SendWindow::add(std::byte* buffer, std::uint32_t head_length, const void* data, std::uint32_t data_length,
                           std::uint64_t tag, bool may_change) {
  OPENLAPI_CHECK(has_slot());
  if (next_ - oldest_ == capacity_) [[unlikely]]
    grow();
  if (buffer == nullptr && !small_heads_) [[unlikely]]
    make_small_heads();

  Slot& entry = slot(next_);
  entry.tag = tag;
  entry.buffer = buffer;
  entry.data = data;
  entry.data_length = data_length;
  entry.writing = 0;
  entry.head_length = static_cast<std::uint16_t>(head_length);
  entry.state = State::unsent;
  entry.data_may_change = may_change;
  entry.transmissions = 0;
  outstanding_bytes_ += entry.length();
  if (buffer != nullptr) ++buffers_;
  std::byte* const head = buffer != nullptr ? buffer : small_heads_[next_ & mask()].bytes;
  ++next_;
  return head;
}

void SendWindow::add_sent(std::byte* buffer, std::uint32_t length, Nanoseconds now, unsigned path) {
  OPENLAPI_CHECK(may_add_sent() && !anything_unsent());
  PathFlight& over = flight(path);
  Slot& entry = slot(next_);
  entry.tag = 0;
  entry.buffer = buffer;
  entry.data = nullptr;
  entry.sent_at = now;
  entry.data_length = 0;
  entry.order = over.next_order++;
  entry.writing = 0;
  entry.head_length = static_cast<std::uint16_t>(length);
  entry.state = State::in_flight;
  entry.data_may_change = false;
  entry.transmissions = 1;
  entry.path = path & 15u;
  outstanding_bytes_ += length;
  over.bytes += length;
  over.traffic.bytes += length;
  ++over.traffic.packets;
  ++buffers_;
  unsent_ = ++next_;
}

void SendWindow::grow() {
  const std::uint32_t larger = capacity_ == 0 ? tuning::kFirstRingSize : 2 * capacity_;
  auto slots = std::make_unique<Slot[]>(larger);
  auto small_heads = small_heads_ ? std::make_unique<SmallHead[]>(larger) : nullptr;
  for (Sequence sequence = oldest_; sequence != next_; ++sequence) {
    slots[sequence & (larger - 1)] = slot(sequence);
    if (small_heads) small_heads[sequence & (larger - 1)] = small_heads_[sequence & mask()];
  }
  slots_ = std::move(slots);
  small_heads_ = std::move(small_heads);
  capacity_ = larger;
}

void SendWindow::make_small_heads() { small_heads_ = std::make_unique<SmallHead[]>(capacity_); }

std::size_t SendWindow::memory_bytes() const {
  return capacity_ * (sizeof(Slot) + (small_heads_ ? sizeof(SmallHead) : 0));
}

bool SendWindow::has_transmission(std::uint64_t window, unsigned path) const {
  if (!anything_unsent()) return false;
  return flight(path).bytes < window || oldest_is_lost();
}

Transmission SendWindow::transmission(Sequence sequence) const {
  const Slot& entry = slot(sequence);
  return {.head = entry.buffer != nullptr ? entry.buffer : small_heads_[sequence & mask()].bytes,
          .data = entry.data,
          .head_length = entry.head_length,
          .data_length = entry.data_length,
          .sequence = sequence,
          .writing = entry.writing,
          .data_may_change = entry.data_may_change != 0,
          .again = entry.state == State::lost};
}

std::size_t SendWindow::collect(std::uint64_t window, std::span<Transmission> out, unsigned path) const {
  std::size_t count = 0;
  std::uint64_t in_flight = flight(path).bytes;
  std::uint32_t lost = lost_;
  Sequence sequence = before(first_lost_, settled_) ? settled_ : first_lost_;
  for (; lost != 0 && count < out.size(); ++sequence) {
    if (slot(sequence).state != State::lost) continue;
    if (in_flight >= window && sequence != settled_) return count;
    out[count] = transmission(sequence);
    in_flight += out[count++].length();
    --lost;
  }
  for (sequence = unsent_; sequence != next_ && count < out.size() && in_flight < window; ++sequence) {
    out[count] = transmission(sequence);
    in_flight += out[count++].length();
  }
  return count;
}

std::uint32_t SendWindow::transmitted(std::span<const Transmission> taken, Nanoseconds now, unsigned path) {
  PathFlight& over = flight(path);
  std::uint32_t retransmissions = 0;
  for (const Transmission& packet : taken) {
    Slot& entry = slot(packet.sequence);
    if (packet.again) {
      --lost_;
      if (packet.sequence == first_lost_) ++first_lost_;
    } else {
      unsent_ = packet.sequence + 1;
    }
    entry.state = State::in_flight;
    entry.sent_at = now;
    entry.order = over.next_order++;
    entry.path = path & 15u;
    entry.writing = 0;
    if (entry.transmissions != 0) ++retransmissions;
    if (entry.transmissions != kMostTransmissionsCounted) ++entry.transmissions;
    over.bytes += entry.length();
    over.traffic.bytes += entry.length();
  }
  over.traffic.packets += taken.size();
  over.traffic.again += retransmissions;
  return retransmissions;
}

bool SendWindow::any_again() const {
  return first_flight_.newest_was_again || std::ranges::any_of(other_flights_, &PathFlight::newest_was_again);
}

AckOutcome SendWindow::acknowledge(Sequence cumulative, std::uint64_t selective, std::span<const std::uint64_t> wider,
                                   const AckTiming& timing) {
  AckOutcome outcome;
  begin_news();
  // What is neither among the transmitted ones nor before them was never sent; half of all numbers are before.
  if (cumulative - settled_ > unsent_ - settled_) {
    outcome.old = before(cumulative, settled_);
    outcome.valid = outcome.old;
    return outcome;
  }
  outcome.advanced = cumulative != settled_;
  const Sequence before_it = settled_;
  for (; settled_ != cumulative; ++settled_) {
    Slot& entry = slot(settled_);
    outstanding_bytes_ -= entry.length();
    settle(entry, timing);
  }
  if (settled_ / kSequencesNear != before_it / kSequencesNear) [[unlikely]]
    keep_recoveries_near();
  if (selective != 0 || !wider.empty()) {
    settle_selected(cumulative + 1, selective, timing);
    reach_ = 1 + kSelectiveBits;
    for (const std::uint64_t word : wider) {
      settle_selected(cumulative + reach_, word, timing);
      reach_ += kSelectiveBits;
    }
    find_lost(timing);
  } else if (any_again()) {
    find_lost(timing);
  }
  return outcome;
}

// One that lies before all packets says no more than the oldest packet does, but must not come to lie behind them.
void SendWindow::keep_recoveries_near() {
  for (unsigned path = 0; path != paths(); ++path) {
    if (before(flight(path).recovery, settled_)) flight(path).recovery = settled_;
  }
}

void SendWindow::give_up_overtaken(const AckTiming& timing) {
  begin_news();
  find_lost(timing);
}

void SendWindow::settle_selected(Sequence first, std::uint64_t selective, const AckTiming& timing) {
  for (; selective != 0; selective &= selective - 1) {
    const Sequence sequence = first + static_cast<Sequence>(std::countr_zero(selective));
    if (!before(sequence, unsent_)) return;
    settle(slot(sequence), timing);
  }
}

void SendWindow::settle(Slot& entry, const AckTiming& timing) {
  if (entry.state == State::selectively_acknowledged) return;
  PathFlight& over = told_flight(entry.path);
  if (entry.state == State::in_flight) over.bytes -= entry.length();
  if (entry.state == State::lost) --lost_;
  entry.state = State::selectively_acknowledged;
  over.news.bytes += entry.length();

  // An answer faster than the path's best may be one to an earlier transmission: it proves nothing about this one.
  const bool again = entry.transmissions > 1;
  const Nanoseconds age = timing.now - entry.sent_at;
  if (again && age < timing.paths.timing_of(entry.path).shortest_round_trip) return;
  if (!before(over.newest_order, entry.order)) return;
  // Only the newest arrival is measured: an older one may have waited here for news that was lost on the way.
  over.news.round_trip = again ? 0 : std::max<Nanoseconds>(age, 1);
  over.news.carried = !again && entry.length() >= over.longest_lost;
  if (over.news.carried) over.longest_lost = 0;
  over.newest_order = entry.order;
  over.newest_sent_at = entry.sent_at;
  over.newest_was_again = again;
}

// Goes from the newest packet that may be missing to the oldest, counting what arrived behind each over the same path.
// Packets out of reach of a selective acknowledgement may have arrived without our hearing of it: their turn comes
// later.
void SendWindow::find_lost(const AckTiming& timing) {
  Sequence sequence = settled_ + std::min(unsent_ - settled_, reach_);
  std::array<std::uint16_t, tuning::kMaxPathsPerPeer> arrived{};
  while (sequence != settled_) {
    --sequence;
    const Slot& entry = slot(sequence);
    PathFlight& over = told_flight(entry.path);
    if (entry.state == State::selectively_acknowledged) ++arrived[entry.path];
    if (entry.state != State::in_flight || !before(entry.order, over.newest_order)) continue;
    if (!is_lost(entry, arrived[entry.path], timing)) {
      const Nanoseconds patience = timing.paths.timing_of(entry.path).patience;
      over.news.recheck_at = std::min(over.news.recheck_at, entry.sent_at + patience);
      continue;
    }
    lose(sequence);
    if (not_after(over.recovery, sequence)) over.news.lost = true;
  }
}

bool SendWindow::is_lost(const Slot& entry, unsigned arrived_behind, const AckTiming& timing) const {
  const PathFlight& over = flight(entry.path);
  const PathTiming path = timing.paths.timing_of(entry.path);
  if (entry.sent_at + path.reorder_time <= over.newest_sent_at || entry.sent_at + path.patience <= timing.now)
    return true;
  return arrived_behind >= tuning::kReorderPackets &&
         not_after(entry.order + tuning::kReorderPackets, over.newest_order);
}

void SendWindow::lose(Sequence sequence) {
  const Slot& entry = slot(sequence);
  if (entry.state == State::in_flight) ++flight(entry.path).traffic.lost;
  send_again(sequence);
}

void SendWindow::send_again(Sequence sequence) {
  Slot& entry = slot(sequence);
  PathFlight& over = flight(entry.path);
  if (entry.state == State::in_flight) over.bytes -= entry.length();
  over.longest_lost = std::max(over.longest_lost, entry.length());
  entry.state = State::lost;
  if (lost_++ == 0 || before(sequence, first_lost_)) first_lost_ = sequence;
}

bool SendWindow::timed_out(Nanoseconds not_after, unsigned path) {
  bool any = false;
  if (waits_for(path)) {
    if (slot(settled_).state == State::lost) return false;
    lose(settled_);  // also when it had been acknowledged selectively: the peer has not kept it
    any = true;
  }
  return lose_of(path, not_after) || any;
}

// What was last sent over the path, no later than that, and not acknowledged since. False: there is nothing.
bool SendWindow::lose_of(unsigned path, Nanoseconds not_after) {
  bool any = false;
  for (Sequence sequence = settled_; sequence != unsent_; ++sequence) {
    const Slot& entry = slot(sequence);
    if (entry.state != State::in_flight || entry.path != path || entry.sent_at > not_after) continue;
    lose(sequence);
    any = true;
  }
  return any;
}

void SendWindow::resend_all() {
  for (Sequence sequence = settled_; sequence != unsent_; ++sequence) {
    if (slot(sequence).state != State::lost) send_again(sequence);
    slot(sequence).transmissions = 0;
  }
}

void SendWindow::abandon() {
  for (Sequence sequence = settled_; sequence != next_; ++sequence) slot(sequence).state = State::abandoned;
  settled_ = unsent_ = next_;
  lost_ = 0;
  outstanding_bytes_ = 0;
  for (unsigned path = 0; path != paths(); ++path) {
    PathFlight& over = flight(path);
    over.bytes = 0;
    over.recovery = next_;
    over.newest_was_again = false;
  }
}

bool SendWindow::take_completed(CompletedPacket& completed) {
  while (oldest_ != settled_) {
    Slot& entry = slot(oldest_++);
    if (entry.buffer != nullptr) {
      pool_.give_back(std::exchange(entry.buffer, nullptr));
      --buffers_;
    }
    if (entry.tag == 0) continue;
    completed = {.tag = entry.tag, .acknowledged = entry.state != State::abandoned};
    return true;
  }
  return false;
}

}  // namespace openlapi
