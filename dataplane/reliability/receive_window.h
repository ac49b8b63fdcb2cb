// The receiving side of a channel: which packets were taken, which arrived early and are held or were taken out of turn
// ("placed"), and when an acknowledgement is due. Memory is bounded by tuning::kMostHeldPackets and by the pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "dataplane/base/clock.h"
#include "dataplane/reliability/packet_pool.h"
#include "dataplane/reliability/sequence.h"

namespace openlapi {

enum class ArrivalVerdict : std::uint8_t {
  in_order,   // the engine may take it; then call taken() or refused()
  early,      // call hold() or place()
  duplicate,  // taken, held or placed already
  malformed,  // impossible numbers
};

class ReceiveWindow {
 public:
  explicit ReceiveWindow(PacketPool& pool) : pool_(pool) {}
  ~ReceiveWindow() { forget(); }
  ReceiveWindow(const ReceiveWindow&) = delete;
  ReceiveWindow& operator=(const ReceiveWindow&) = delete;

  // The sender's first packet will have this number. Nothing is held yet.
  void begin(Sequence first) { next_ = first; }

  // A data packet has arrived. `ahead`: how far it is ahead of its sender's oldest unacknowledged packet, which says
  // how far to skip when the sender has given packets up.
  ArrivalVerdict offer(Sequence sequence, std::uint16_t ahead, bool ack_wanted, Nanoseconds now);

  // The answers to an early packet. False: there is no room, and it counts as never arrived. A copy of it is kept;
  bool hold(Sequence sequence, std::span<const std::byte> payload, Nanoseconds now);
  // or the engine takes it now, out of turn.
  bool place(Sequence sequence, Nanoseconds now);

  // The copy of the next packet, if it is held; nothing is left of one that was placed.
  bool next_held(std::span<std::byte>& payload) const;

  // The engine's answer to the next packet, offered in place or held. A refused packet counts as never arrived.
  void taken(Nanoseconds now);
  void refused();

  // Forgets everything about the sender (it has a new incarnation).
  void forget();

  bool established() const { return established_; }  // something has arrived from the sender
  bool has_come(Sequence sequence) const {           // taken, held or placed already
    const std::int32_t steps = distance(next_, sequence);
    return steps < 0 || (static_cast<std::uint32_t>(steps) < capacity_ && held(sequence).buffer != nullptr);
  }
  Sequence next() const { return next_; }  // next expected packet, sent as the cumulative acknowledgement
  // Which packets behind the next one are held: bit i: the packet next() + 1 + i. The first word,
  std::uint64_t selective() const { return selective(0); }
  // and the others, as far as there are any. Returns how many.
  std::size_t wider_selective(std::span<std::uint64_t> words) const;
  bool reaches_beyond_header() const {  // there are others
    return held_count_ != 0 && distance(next_, farthest_) > static_cast<std::int32_t>(kSelectiveBits);
  }
  bool saw_duplicate() const { return saw_duplicate_; }
  std::uint16_t ack_delay(Nanoseconds now) const;  // microseconds since the newest arrival

  bool must_acknowledge(std::uint32_t threshold) const { return ack_now_ || unacknowledged_ >= threshold; }
  bool ack_due(Nanoseconds now, std::uint32_t threshold) const {
    return must_acknowledge(threshold) || now >= ack_deadline_;
  }
  Nanoseconds ack_deadline() const { return ack_now_ ? 0 : ack_deadline_; }  // UINT64_MAX: nothing to acknowledge
  void acknowledged();                                                       // an acknowledgement was sent

  std::uint32_t held_packets() const { return held_count_; }
  std::size_t memory_bytes() const { return capacity_ * sizeof(Held); }

 private:
  static constexpr std::uint32_t kSelectiveBits = 64;

  struct Held {
    std::byte* buffer = nullptr;  // null: not here; the payload begins at offset kPacketHeaderSize
    std::uint32_t length = 0;
  };

  bool may_keep(Sequence sequence, Nanoseconds now);
  void keep(Sequence sequence, Held packet);
  bool make_room_for(std::uint32_t steps);
  [[gnu::noinline]] void skip_to(Sequence base);
  [[gnu::noinline]] void drop_held(Sequence sequence);
  void arrived(Nanoseconds now);
  std::uint64_t selective(std::uint32_t first) const;
  Held& held(Sequence sequence) { return held_[sequence & (capacity_ - 1)]; }
  const Held& held(Sequence sequence) const { return held_[sequence & (capacity_ - 1)]; }

  PacketPool& pool_;
  std::unique_ptr<Held[]> held_;
  std::uint32_t capacity_ = 0;  // 0 or a power of two
  std::uint32_t held_count_ = 0;
  Sequence next_ = 0;
  Sequence farthest_ = 0;             // the last one that is held, if any is
  std::uint32_t unacknowledged_ = 0;  // arrivals since the last acknowledgement
  Nanoseconds ack_deadline_ = UINT64_MAX;
  Nanoseconds newest_at_ = 0;
  bool established_ = false;
  bool ack_now_ = false;
  bool saw_duplicate_ = false;
};

}  // namespace openlapi
