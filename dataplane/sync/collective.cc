#include "dataplane/sync/collective.h"

#include <algorithm>
#include <cstring>

#include "dataplane/tuning.h"

namespace openlapi {

namespace {

std::uint64_t key_of(std::uint32_t sequence, std::uint32_t round) { return std::uint64_t{sequence} << 32 | round; }

// Serial-number comparison: sequence numbers wrap.
bool is_before(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) < 0; }

}  // namespace

void Collective::begin_barrier(Outbox& outbox) { begin(false, outbox); }

void Collective::begin_exchange(std::uint64_t value, Outbox& outbox) {
  blocks_.assign(1, value);
  blocks_.reserve(tasks_);
  begin(true, outbox);
}

void Collective::confirm_exchange(Outbox& outbox) {
  if (!filled()) return;
  confirmed_ = true;
  if (tasks_ > 1) send_present_round(outbox);
  advance(outbox);
}

void Collective::begin_failed(Outbox& outbox) {
  ++sequence_;
  told_late_.clear();
  round_ = 0;
  active_ = true;
  exchange_ = confirmed_ = round_sent_ = false;
  fail(kUnknownPeer, outbox);
}

void Collective::begin(bool exchange, Outbox& outbox) {
  ++sequence_;
  told_late_.clear();
  round_ = 0;
  active_ = true;
  exchange_ = exchange;
  failed_ = confirmed_ = round_sent_ = false;
  lost_peer_ = kUnknownPeer;
  forget_early([&](std::uint32_t sequence) { return is_before(sequence, sequence_); });
  if (take_failure(outbox)) return;
  if (tasks_ > 1) send_present_round(outbox);
  advance(outbox);
}

void Collective::send_present_round(Outbox& outbox) {
  const std::size_t count = carries_values() ? std::min(distance(), tasks_ - distance()) : 0;
  round_sent_ = true;
  outbox.send_round(receiver(), sequence_, round_, std::as_bytes(std::span(blocks_.data(), count)));
}

void Collective::fail(PeerIndex lost, Outbox& outbox) {
  if (!active_) return;
  active_ = false;
  failed_ = true;
  lost_peer_ = lost;
  forget_early([&](std::uint32_t sequence) { return sequence == sequence_; });
  for (round_ += round_sent_ ? 1 : 0; round_ < all_rounds(); ++round_) {
    if (receiver() == lost) continue;
    outbox.send_round(receiver(), sequence_, kBrokenRound, std::as_bytes(std::span(&lost, 1)));
  }
}

// Whether somebody has said that the present collective cannot be finished.
bool Collective::take_failure(Outbox& outbox) {
  const std::uint64_t broken = key_of(sequence_, kBrokenRound);
  const auto found = early_.lower_bound({broken, 0});
  if (found == early_.end() || found->first.round != broken) return false;
  PeerIndex lost = kUnknownPeer;
  if (found->second.size() == sizeof(lost)) std::memcpy(&lost, found->second.data(), sizeof(lost));
  fail(lost < tasks_ && lost != self_ ? lost : kUnknownPeer, outbox);
  return true;
}

bool Collective::arrived(PeerIndex from, std::uint32_t sequence, std::uint32_t round, std::vector<std::byte> bytes,
                         Outbox& outbox) {
  const bool present = active_ && sequence == sequence_;
  const bool of_the_past = !is_before(sequence_, sequence) && !(present && round >= round_);
  if (of_the_past && !present && round != kBrokenRound) tell_late(from, sequence, outbox);
  if (of_the_past || early_.contains({key_of(sequence, round), from})) return true;
  std::size_t& early = early_of_[from];
  if (early >= tuning::kMostEarlyRounds) return false;
  ++early;
  early_.emplace(EarlyKey{key_of(sequence, round), from}, std::move(bytes));
  if (!active_ || !take_failure(outbox)) advance(outbox);
  return true;
}

// What is over here without that task's message has failed here.
void Collective::tell_late(PeerIndex late, std::uint32_t sequence, Outbox& outbox) {
  if (++told_late_[late] > tuning::kMostEarlyRounds) return;
  const PeerIndex lost = sequence == sequence_ ? lost_peer_ : kUnknownPeer;
  outbox.send_round(late, sequence, kBrokenRound, std::as_bytes(std::span(&lost, 1)));
}

std::size_t Collective::early_rounds_of(PeerIndex peer) const {
  const auto found = early_of_.find(peer);
  return found != early_of_.end() ? found->second : 0;
}

template <typename Predicate>
void Collective::forget_early(Predicate predicate) {
  for (auto next = early_.begin(); next != early_.end();) {
    const auto entry = next++;
    if (predicate(static_cast<std::uint32_t>(entry->first.round >> 32))) forget_early_round(entry);
  }
}

void Collective::forget_early_round(EarlyRounds::iterator entry) {
  const auto count = early_of_.find(entry->first.from);
  if (--count->second == 0) early_of_.erase(count);
  early_.erase(entry);
}

void Collective::advance(Outbox& outbox) {
  while (active_) {
    if (filled()) return order_values();
    if (round_ == all_rounds()) {
      active_ = false;
      return;
    }
    const auto found = early_.find({key_of(sequence_, round_), awaited()});
    if (found == early_.end()) return;
    const bool fits = !carries_values() || take_blocks(found->second);
    forget_early_round(found);
    if (!fits) continue;
    ++round_;
    round_sent_ = false;
    if (round_ < all_rounds() && !filled()) send_present_round(outbox);
  }
}

// A message whose length does not fit its round is no message of this collective.
bool Collective::take_blocks(std::span<const std::byte> bytes) {
  const std::size_t count = std::min(distance(), tasks_ - distance());
  if (bytes.size() != count * sizeof(std::uint64_t)) return false;
  const std::size_t have = blocks_.size();
  blocks_.resize(have + count);
  std::memcpy(blocks_.data() + have, bytes.data(), bytes.size());
  return true;
}

void Collective::order_values() {
  result_.resize(tasks_);
  for (std::uint32_t i = 0; i < tasks_; ++i) result_[(self_ + i) % tasks_] = blocks_[i];
}

}  // namespace openlapi
