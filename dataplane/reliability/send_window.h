// Packets to one peer that are not acknowledged yet, in a ring that grows on demand. It numbers packets, keeps their
// bytes until they are acknowledged, and decides which are lost and which may leave now over one of the peer's paths.
// Knows no timers and no epochs.
//
//   oldest_ ......... settled_ ............ unsent_ .......... next_
//   reported to the   transmitted, not       queued, never      number of the next
//   engine next       acknowledged           transmitted        packet
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/base/clock.h"
#include "dataplane/reliability/packet_pool.h"
#include "dataplane/reliability/path_flight.h"
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

// The result of processing one acknowledgement. What it says of each path is in SendWindow::news().
struct AckOutcome {
  bool valid = true;      // false: it acknowledges what was never sent
  bool old = false;       // older than another one: says nothing new
  bool advanced = false;  // the oldest packet was acknowledged
};

// The present time, and what is known of each path.
struct AckTiming {
  Nanoseconds now;
  const PathTimings& paths;
};

class SendWindow {
 public:
  // `first`: number of the first packet; transmissions are numbered from the one after it. There is one path, number 0.
  // `most`: packets that it holds, at most tuning::kMostPacketsInFlight.
  explicit SendWindow(PacketPool& pool, Sequence first = 0, std::uint32_t most = tuning::kMostPacketsInFlight)
      : pool_(pool), most_(most), oldest_(first), settled_(first), unsent_(first), next_(first), first_flight_(first) {}
  ~SendWindow();
  SendWindow(const SendWindow&) = delete;
  SendWindow& operator=(const SendWindow&) = delete;

  // Adds a path under the next number; at most tuning::kMaxPathsPerPeer in all.
  void add_path() {
    other_flights_.emplace_back(unsent_);
    ++paths_;
  }
  unsigned paths() const { return paths_; }

  bool has_slot() const { return has_slots(1); }
  bool has_slots(std::uint32_t packets) const { return next_ - oldest_ + packets <= most_; }
  std::uint64_t outstanding_bytes() const { return outstanding_bytes_; }  // transmitted and queued
  std::uint64_t in_flight_bytes(unsigned path = 0) const { return flight(path).bytes; }  // believed to be in flight
  const PathTraffic& traffic(unsigned path) const { return flight(path).traffic; }
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

  // A packet that has left before it is added, when may_add_sent(), has_slot() and nothing is unsent. It has no data
  // beside `buffer`. The ring does not grow for it, so nothing can fail.
  bool may_add_sent() const { return next_ - oldest_ < capacity_; }
  void add_sent(std::byte* buffer, std::uint32_t length, Nanoseconds now, unsigned path = 0);

  // Whether a packet waits to leave, for the first time or again.
  bool anything_unsent() const { return lost_ != 0 || unsent_ != next_; }

  // The packet that all others wait for waits for its retransmission.
  bool oldest_is_lost() const { return lost_ != 0 && slot(settled_).state == State::lost; }

  // Whether collect() would find something with this window of the path.
  bool has_transmission(std::uint64_t window, unsigned path = 0) const;

  // Fills `out` with packets that may leave over the path, lost ones first, while fewer than `window` bytes are in
  // flight there. The oldest lost packet and the first of an empty window may always leave.
  std::size_t collect(std::uint64_t window, std::span<Transmission> out, unsigned path = 0) const;

  // The header of a packet that collect() has just given is there now. It is written anew when the packet has left, and
  // each time when it may be wrong for the data by then.
  void header_written(Sequence sequence, std::uint32_t writing) {
    Slot& entry = slot(sequence);
    if (!entry.data_may_change) entry.writing = writing;
  }

  // These have left. Called with the first of what collect() has just given for that path. Answers how many are
  // retransmissions.
  std::uint32_t transmitted(std::span<const Transmission> taken, Nanoseconds now, unsigned path = 0);

  // `selective`: bit i: packet cumulative + 1 + i has arrived; `wider`: the same of the packets behind these 64.
  AckOutcome acknowledge(Sequence cumulative, std::uint64_t selective, std::span<const std::uint64_t> wider,
                         const AckTiming& timing);

  // Later packets arrived a while ago: counts those as lost that have been waited for long enough.
  void give_up_overtaken(const AckTiming& timing);

  // What acknowledge() or give_up_overtaken() has just told of the path, and the paths, as bits, of which they have
  // told anything; of the first one always, if only that there is nothing new.
  const PathNews& news(unsigned path = 0) const { return flight(path).news; }
  std::uint32_t told() const { return told_; }

  // The path's retransmission timer ran out: all count as lost that were last sent over it no later than `not_after`
  // and not acknowledged since; one by one they would take a time-out each. With them the oldest packet, if that is the
  // path's, whenever it was sent. False: there is none, or that one waits for its retransmission already.
  bool timed_out(Nanoseconds not_after, unsigned path = 0);

  // Whatever was last sent over the path and is not acknowledged counts as lost.
  void give_up_path(unsigned path) { static_cast<void>(lose_of(path, UINT64_MAX)); }

  // It has shown that it carries packets of any length.
  void path_carries_all(unsigned path) { flight(path).longest_lost = 0; }

  // Whether the oldest packet was last sent over the path.
  bool waits_for(unsigned path) const { return settled_ != unsent_ && slot(settled_).path == path; }

  // The path's window was cut: what is out now is no reason for another cut.
  void mark_recovery(unsigned path = 0) { flight(path).recovery = unsent_; }

  void resend_all();  // everything transmitted was turned away: counts as never sent, but keeps its numbers
  void abandon();     // nothing of what is in the window leaves any more; its numbers are not used again

  // Reports settled packets in order of their numbers and frees their buffers; those with tag 0 are freed silently.
  bool take_completed(CompletedPacket& completed);

  std::size_t memory_bytes() const;

 private:
  static constexpr std::uint8_t kMostTransmissionsCounted = 7;
  enum class State : std::uint8_t { unsent, in_flight, selectively_acknowledged, lost, abandoned };

  struct Slot {
    std::uint64_t tag;
    std::byte* buffer;  // null: the head is in small_heads_
    const void* data;
    Nanoseconds sent_at;  // last time
    std::uint32_t data_length;
    std::uint32_t order;    // of the last transmission among all of its path
    std::uint32_t writing;  // of the header that it will leave with; 0: it has to be written
    std::uint16_t head_length;
    State state;
    std::uint8_t data_may_change : 1;
    std::uint8_t transmissions : 3;  // stops at the most
    std::uint8_t path : 4;           // of the last transmission

    std::uint32_t length() const { return head_length + data_length; }
  };
  static_assert(sizeof(Slot) <= 48);

  struct alignas(8) SmallHead {
    std::byte bytes[wire::kPacketHeaderSize + tuning::kSmallHeadBytes];
  };

  Slot& slot(Sequence sequence) { return slots_[sequence & mask()]; }
  const Slot& slot(Sequence sequence) const { return slots_[sequence & mask()]; }
  std::uint32_t mask() const { return capacity_ - 1; }
  PathFlight& flight(unsigned path) { return path == 0 ? first_flight_ : other_flights_[path - 1]; }
  const PathFlight& flight(unsigned path) const { return path == 0 ? first_flight_ : other_flights_[path - 1]; }
  Transmission transmission(Sequence sequence) const;

  [[gnu::noinline]] void grow();
  void make_small_heads();
  void begin_news() {
    told_ = 1;
    first_flight_.begin_news();
  }
  // Of the path that something is known of now.
  PathFlight& told_flight(unsigned path) {
    if (path == 0) return first_flight_;
    PathFlight& over = other_flights_[path - 1];
    if ((told_ >> path & 1) == 0) over.begin_news();
    told_ |= 1u << path;
    return over;
  }
  void keep_recoveries_near();
  void settle(Slot& entry, const AckTiming& timing);
  [[gnu::noinline]] void settle_selected(Sequence first, std::uint64_t selective, const AckTiming& timing);
  [[gnu::noinline]] void find_lost(const AckTiming& timing);
  bool any_again() const;
  bool is_lost(const Slot& entry, unsigned arrived_behind, const AckTiming& timing) const;
  bool lose_of(unsigned path, Nanoseconds not_after);
  void lose(Sequence sequence);
  void send_again(Sequence sequence);

  PacketPool& pool_;
  const std::uint32_t most_;
  std::unique_ptr<Slot[]> slots_;
  std::unique_ptr<SmallHead[]> small_heads_;
  std::uint32_t capacity_ = 0;  // 0 or a power of two
  Sequence oldest_;
  Sequence settled_;
  Sequence unsent_;
  Sequence next_;
  Sequence first_lost_ = 0;  // no packet before it is lost; meaningful while lost_ is not 0
  Sequence reach_ = 65;      // packets, from the oldest one, that the latest selective acknowledgement tells of
  std::uint32_t lost_ = 0;   // packets waiting for retransmission
  std::uint32_t buffers_ = 0;  // of the pool, until take_completed() gives them back
  std::uint64_t outstanding_bytes_ = 0;
  PathFlight first_flight_;
  std::vector<PathFlight> other_flights_;  // of path 1, 2, ...
  unsigned paths_ = 1;
  std::uint32_t told_ = 1;
};

}  // namespace openlapi
