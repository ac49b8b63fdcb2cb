#include "dataplane/operation/collective.h"

#include <algorithm>
#include <cstring>

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

void Collective::begin_failed(Outbox& outbox) {
  ++sequence_;
  round_ = 0;
  active_ = true;
  exchange_ = round_sent_ = false;
  fail(kUnknownPeer, outbox);
}

void Collective::begin(bool exchange, Outbox& outbox) {
  ++sequence_;
  round_ = 0;
  active_ = true;
  exchange_ = exchange;
  failed_ = round_sent_ = false;
  lost_peer_ = kUnknownPeer;
  if (take_failure(outbox)) return;
  if (tasks_ > 1) send_present_round(outbox);
  advance(outbox);
}

void Collective::send_present_round(Outbox& outbox) {
  const std::size_t count = exchange_ ? std::min(distance(), tasks_ - distance()) : 0;
  round_sent_ = true;
  outbox.send_round(receiver(), sequence_, round_, std::as_bytes(std::span(blocks_.data(), count)));
}

void Collective::fail(PeerIndex lost, Outbox& outbox) {
  if (!active_) return;
  active_ = false;
  failed_ = true;
  lost_peer_ = lost;
  std::erase_if(early_, [&](const auto& entry) { return entry.first >> 32 == sequence_; });
  for (round_ += round_sent_ ? 1 : 0; distance() < tasks_; ++round_) {
    if (receiver() == lost) continue;
    outbox.send_round(receiver(), sequence_, kBrokenRound, std::as_bytes(std::span(&lost, 1)));
  }
}

// Whether somebody has said that the present collective cannot be finished.
bool Collective::take_failure(Outbox& outbox) {
  const auto found = early_.find(key_of(sequence_, kBrokenRound));
  if (found == early_.end()) return false;
  PeerIndex lost = kUnknownPeer;
  if (found->second.size() == sizeof(lost)) std::memcpy(&lost, found->second.data(), sizeof(lost));
  fail(lost < tasks_ && lost != self_ ? lost : kUnknownPeer, outbox);
  return true;
}

void Collective::arrived(std::uint32_t sequence, std::uint32_t round, std::vector<std::byte> bytes, Outbox& outbox) {
  const bool of_the_past = !is_before(sequence_, sequence) && !(active_ && sequence == sequence_ && round >= round_);
  if (of_the_past) return;
  early_.emplace(key_of(sequence, round), std::move(bytes));
  if (!active_ || !take_failure(outbox)) advance(outbox);
}

void Collective::advance(Outbox& outbox) {
  while (active_) {
    if (tasks_ == 1 || distance() >= tasks_) return finish();
    const auto found = early_.find(key_of(sequence_, round_));
    if (found == early_.end()) return;
    const bool fits = !exchange_ || take_blocks(found->second);
    early_.erase(found);
    if (!fits) continue;
    ++round_;
    round_sent_ = false;
    if (distance() < tasks_) send_present_round(outbox);
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

void Collective::finish() {
  active_ = false;
  if (!exchange_) return;
  result_.resize(tasks_);
  for (std::uint32_t i = 0; i < tasks_; ++i) result_[(self_ + i) % tasks_] = blocks_[i];
}

}  // namespace openlapi
