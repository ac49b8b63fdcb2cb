// Packets to one peer that are not acknowledged yet, in a ring that grows on demand. It numbers packets, keeps their
// bytes until they are acknowledged, and decides which are lost and which may leave now. Knows no timers and no epochs.
//
//   oldest_ ......... settled_ ............ unsent_ .......... next_
//   reported to the   transmitted, not       queued, never      number of the next
//   engine next       acknowledged           transmitted        packet
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "dataplane/base/clock.h"
#include "dataplane/reliability/packet_pool.h"
#include "dataplane/reliability/sequence.h"
#include "dataplane/tuning.h"
#include "dataplane/wire/packet_header.h"

namespace openlapi {

// A packet that is to leave now: head followed by data. Valid until the next call on the channel.
struct Transmission {
  std::byte* head;  // begins with the packet header
  const void* data;
  std::uint32_t head_length;
  std::uint32_t data_length;  // 0: there is no second piece
  Sequence sequence;
  std::uint32_t writing;  // identifies its header, as passed to header_written(); 0: it has no header to keep
  bool data_may_change;   // so its header is made anew at each attempt
  bool again;             // it is a retransmission

  std::uint32_t length() const { return head_length + data_length; }
};

struct CompletedPacket {
  std::uint64_t tag;
  bool acknowledged;  // false: abandoned, and nobody will ever know whether it arrived
};

// The result of processing one acknowledgement.
struct AckOutcome {
  bool valid = true;                    // false: it acknowledges what was never sent
  bool old = false;                     // older than another one: says nothing new
  bool advanced = false;                // the oldest packet was acknowledged
  bool lost = false;                    // packets were found lost for which the window was not reduced yet
  std::uint64_t bytes = 0;              // newly acknowledged
  Nanoseconds recheck_at = UINT64_MAX;  // when give_up_overtaken() would find more
  Nanoseconds round_trip = 0;           // measured, including the receiver's delay; 0: nothing to measure
};

// The present time, and what is known of the path.
struct AckTiming {
  Nanoseconds now;
  Nanoseconds shortest_round_trip;
  Nanoseconds reorder_time;  // a packet sent this much earlier than one that arrived is lost
  Nanoseconds patience;      // a packet that was overtaken and sent this long ago is lost
};

class SendWindow {
 public:
  // `first`: number of the first packet; transmissions are numbered from the one after it.
  explicit SendWindow(PacketPool& pool, Sequence first = 0)
      : pool_(pool),
        oldest_(first),
        settled_(first),
        unsent_(first),
        next_(first),
        recovery_(first),
        next_order_(first + 1),
        newest_order_(first) {}
  ~SendWindow();
  SendWindow(const SendWindow&) = delete;
  SendWindow& operator=(const SendWindow&) = delete;

  bool has_slot() const { return has_slots(1); }
  bool has_slots(std::uint32_t packets) const { return next_ - oldest_ + packets <= tuning::kMostPacketsInFlight; }
  std::uint64_t outstanding_bytes() const { return outstanding_bytes_; }  // transmitted and queued
  std::uint64_t in_flight_bytes() const { return in_flight_bytes_; }      // believed to be in flight
  bool anything_transmitted() const { return settled_ != unsent_; }
  bool everything_settled() const { return settled_ == next_; }
  std::uint32_t packets_out() const { return next_ - settled_; }
  std::uint32_t buffers_held() const { return buffers_; }
  Sequence settled() const { return settled_; }
  Sequence next() const { return next_; }

  // Adds a packet; has_slot() was true. `head_length` counts the packet header. `buffer` (of the pool) becomes the
  // window's; null: the head is kept in the window itself and the place for it is the answer. `may_change`: the data.
  std::byte* add(std::byte* buffer, std::uint32_t head_length, const void* data, std::uint32_t data_length,
                 std::uint64_t tag, bool may_change = false);

  // A packet that has left before it is added, when may_add_sent() and nothing is unsent. It has no data beside
  // `buffer`. The ring, never larger than has_slot() allows, does not grow for it, so nothing can fail.
  bool may_add_sent() const { return next_ - oldest_ < capacity_; }
  void add_sent(std::byte* buffer, std::uint32_t length, Nanoseconds now);

  // Whether a packet waits to leave, for the first time or again.
  bool anything_unsent() const { return lost_ != 0 || unsent_ != next_; }

  // Whether next_transmission() would find something with this window.
  bool has_transmission(std::uint64_t window) const;

  // Fills `out` with packets that may leave, lost ones first, while fewer than `window` bytes are in flight. The oldest
  // lost packet and the first of an empty window may always leave.
  std::size_t collect(std::uint64_t window, std::span<Transmission> out) const;

  // The header of a packet that collect() has just given is there now. It is written anew when the packet has left, and
  // each time when it may be wrong for the data by then.
  void header_written(Sequence sequence, std::uint32_t writing) {
    Slot& entry = slot(sequence);
    if (!entry.data_may_change) entry.writing = writing;
  }

  // These have left. Called with the first of what collect() has just given. Answers how many are retransmissions.
  std::uint32_t transmitted(std::span<const Transmission> taken, Nanoseconds now);

  AckOutcome acknowledge(Sequence cumulative, std::uint64_t selective, const AckTiming& timing);

  // Later packets arrived a while ago: counts those as lost that have been waited for long enough.
  AckOutcome give_up_overtaken(const AckTiming& timing);

  // The retransmission timer ran out: the oldest packet counts as lost, and with it all that were last sent no later
  // than `not_after` and not acknowledged since; one by one they would take a time-out each. False: the oldest waits
  // for its retransmission already.
  bool oldest_timed_out(Nanoseconds not_after);

  // The window was cut: what is out now is no reason for another cut.
  void mark_recovery() { recovery_ = unsent_; }

  void resend_all();  // everything transmitted was turned away: counts as never sent, but keeps its numbers
  void abandon();     // nothing of what is in the window leaves any more; its numbers are not used again

  // Reports settled packets in order of their numbers and frees their buffers; those with tag 0 are freed silently.
  bool take_completed(CompletedPacket& completed);

  std::size_t memory_bytes() const;

 private:
  static constexpr std::uint8_t kMostTransmissionsCounted = 127;
  enum class State : std::uint8_t { unsent, in_flight, selectively_acknowledged, lost, abandoned };

  struct Slot {
    std::uint64_t tag;
    std::byte* buffer;  // null: the head is in small_heads_
    const void* data;
    Nanoseconds sent_at;  // last time
    std::uint32_t data_length;
    std::uint32_t order;    // of the last transmission among all transmissions of the window
    std::uint32_t writing;  // of the header that it will leave with; 0: it has to be written
    std::uint16_t head_length;
    State state;
    std::uint8_t data_may_change : 1;
    std::uint8_t transmissions : 7;  // stops at the most

    std::uint32_t length() const { return head_length + data_length; }
  };
  static_assert(sizeof(Slot) <= 48);

  struct alignas(8) SmallHead {
    std::byte bytes[wire::kPacketHeaderSize + tuning::kSmallHeadBytes];
  };

  Slot& slot(Sequence sequence) { return slots_[sequence & mask()]; }
  const Slot& slot(Sequence sequence) const { return slots_[sequence & mask()]; }
  std::uint32_t mask() const { return capacity_ - 1; }
  Transmission transmission(Sequence sequence) const;

  [[gnu::noinline]] void grow();
  void make_small_heads();
  void settle(Slot& entry, const AckTiming& timing, AckOutcome& outcome);
  [[gnu::noinline]] void settle_selected(Sequence cumulative, std::uint64_t selective, const AckTiming& timing,
                                         AckOutcome& outcome);
  [[gnu::noinline]] void find_lost(const AckTiming& timing, AckOutcome& outcome);
  bool overtaken(const Slot& entry) const {
    return entry.state == State::in_flight && before(entry.order, newest_order_);
  }
  bool is_lost(const Slot& entry, unsigned arrived_behind, const AckTiming& timing) const;
  void lose(Sequence sequence);

  PacketPool& pool_;
  std::unique_ptr<Slot[]> slots_;
  std::unique_ptr<SmallHead[]> small_heads_;
  std::uint32_t capacity_ = 0;  // 0 or a power of two
  Sequence oldest_;
  Sequence settled_;
  Sequence unsent_;
  Sequence next_;
  Sequence recovery_;
  Sequence first_lost_ = 0;  // no packet before it is lost; meaningful while lost_ is not 0
  std::uint32_t lost_ = 0;   // packets waiting for retransmission
  std::uint32_t next_order_;
  std::uint32_t newest_order_;      // of the transmissions that are known to have arrived
  Nanoseconds newest_sent_at_ = 0;  // when that one was sent
  bool newest_was_again_ = false;   // it was a retransmission: packets sent before it may be lost without any gap
  std::uint32_t buffers_ = 0;       // of the pool, until take_completed() gives them back
  std::uint64_t outstanding_bytes_ = 0;
  std::uint64_t in_flight_bytes_ = 0;
};

}  // namespace openlapi
