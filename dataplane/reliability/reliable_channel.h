// Packets between two tasks over one or several unreliable paths, exactly once and in order. Passive: it has no clock,
// socket or thread. Packets to send come out of collect(), packets that arrived go into receive(), and the time is an
// argument. There is one channel per peer, created at first contact and kept until the endpoint ends or the peer is
// purged. Packets are numbered for the peer: each may be sent, or sent again, over any of its paths. The numbers in the
// windows continue when the peer restarts; the numbers on the wire start, for each pair of incarnations, at one that
// only these two can compute. The caller holds the endpoint's lock.
//
// Sending. A packet is numbered when it is queued and kept until it is acknowledged. Queue only when has_room() says
// so: while the window is closed small messages then keep being packed together.
//
//   if (channel.has_room()) {
//     std::byte* buffer = context.pool->take();                    // null: try again after acknowledgements
//     ... write `length` bytes of payload to buffer + wire::kPacketHeaderSize ...
//     channel.queue(buffer, length, tag);                          // the buffer is the channel's now
//   }
// Or without a copy. `data` stays there until its tag is reported, and unchanged unless `may_change` is passed:
//     std::byte* head = channel.queue_referenced(head_length, data, data_length, tag);
//     ... write head_length (at most tuning::kSmallHeadBytes) bytes to head, before any other call ...
//
//   Transmission burst[32];                                        // once per step, whenever has_transmissions()
//   std::size_t count = channel.collect(now, burst);               // headers and acknowledgements are filled in
//   std::size_t taken = transport.send_burst(peer, <pieces of burst[0..count)>);
//   channel.commit({burst, taken}, now);                           // the others are offered again later
//
// And without lists, for a packet that nothing waits in front of, as is usual. Once sent it belongs to the channel:
//     if (channel.may_pass()) {
//       std::span<std::byte> packet = channel.address(buffer, length, now);  // the header is filled in
//       if (transport.send_burst(peer, <packet>) != 0) channel.passed(buffer, length, packet.data(), now);
//     }
//
// Receiving.
//   if (!admit_packet(context, packet, header)) drop;              // strangers, damage; then find the channel by
//   Channel& channel = ... header.source ...;                      // source (check it is a task)
//   ReceiveOutcome outcome = channel.receive(header, payload, now);
//   while (channel.take_completed(done)) ...;                      // always: frees what was acknowledged
//   if (outcome.peer_restarted) ...;                               // fail what the former incarnation owed, first
//   if (outcome.deliver) take(payload) ? channel.taken(now) : channel.refused();
//   if (outcome.early) may_come_early(payload) && channel.place(...) ? take(payload) : channel.hold(...);
//   while (channel.next_held(held)) take(held) ? channel.taken(now) : channel.refused();
//   After refused() the peer sends the packet again; until then nothing behind it is delivered.
//
// First contact. A packet names the incarnation that it is meant for, and no other incarnation takes it. The peer's
// epoch comes with its address. If nobody knows the epoch the first packet cannot name it; it is answered with the
// epoch and sent again, one round trip later, and whichever incarnation of the peer answers first gets what was sent.
//
// A task that restarts where the clock is behind has an earlier epoch than its former incarnation. Whoever knows the
// former one takes nothing from the new one, and answers as if to the former; so the new incarnation learns which epoch
// it has to exceed.
//
// Acknowledgements travel with every data packet. If none leaves in time:
//   if (channel.ack_due(now)) { channel.encode_ack(bytes, now); if (sent) channel.ack_sent(); }   // kPacketHeaderSize
// Check after each burst of arrivals and when the deadline has passed.
//
// Timers. channel.run_timers(now) when now >= channel.next_deadline(); then collect() and ack_due() as above.
// A silent peer: channel.waiting_since() says since when the oldest unacknowledged packet waits (or when something was
// last acknowledged); compare it with the time-out. The channel itself never gives up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/clock.h"
#include "dataplane/reliability/channel_context.h"
#include "dataplane/reliability/path_state.h"
#include "dataplane/reliability/receive_window.h"
#include "dataplane/reliability/send_window.h"
#include "dataplane/wire/packet_header.h"

namespace openlapi {

struct ReceiveOutcome {
  bool deliver = false;         // the payload is the next one: offer it, then call taken() or refused()
  bool early = false;           // it is a later one: call place(), and offer it, or hold()
  bool peer_restarted = false;  // take_completed() reports what was queued before as not acknowledged
  // For a peer that has restarted and was not heard before: packets were in flight to it, and it took none of them. (If
  // it was heard, perhaps only the last acknowledgement is missing.)
  bool nothing_taken = false;
  bool gave_up = false;        // the peer that has restarted is the same incarnation, which has given this one up
  bool has_data = false;       // it is a packet of records, whether they came before or not
  bool path_probed = false;    // the path is to be answered over
  bool path_answered = false;  // the path on which this has come carries packets in both directions
  bool has_news = false;       // the payload tells of addresses (paths/address_exchange.h)
};

struct ChannelEpochs {
  Epoch own = 0;   // larger than the context's; 0: the context's
  Epoch peer = 0;  // 0: not known
};

struct ChannelLimits {
  std::uint32_t max_packet = UINT32_MAX;   // bytes
  std::uint32_t max_packets = UINT32_MAX;  // on their way
};

class ReliableChannel final : private PathTimings {
 public:
  // `context` outlives the channel. `epochs.own` replaces the context's epoch when the two tasks begin anew with each
  // other; `epochs.peer` is 0 when it is not known. `limits`: the peer's, where they are below the context's.
  ReliableChannel(ChannelContext& context, std::uint32_t peer, ChannelEpochs epochs = {}, ChannelLimits limits = {});
  ReliableChannel(const ReliableChannel&) = delete;
  ReliableChannel& operator=(const ReliableChannel&) = delete;

  // ---- sending ----
  std::uint32_t max_payload() const { return max_packet_ - wire::kPacketHeaderSize; }
  // Adds a path under the next number; there is one from the beginning, number 0.
  void add_path();
  unsigned paths() const { return send_.paths(); }
  // Whatever leaves from now on, for the first time or again, leaves over this path.
  void use_path(unsigned path) { path_ = path; }
  // The paths, as bits, that carry together when there is much to send; else it is `best`, one of them.
  void serve(std::uint32_t paths, unsigned best) { path_states_.serve(paths, best); }
  bool is_striped() const { return path_states_.are_several() && peer_epoch_ != 0; }
  // Over which of them the next packets are to leave, and how many before it is asked again; `without`: paths, as bits,
  // that take nothing now. PathStates::kNone: nothing may leave.
  unsigned next_path(std::uint32_t without) const { return path_states_.earliest(send_, without); }
  unsigned quickest_path() const { return path_states_.quickest(); }
  // As probes have shown, of which none waited for others.
  void know_round_trip(unsigned path, Nanoseconds shortest) { path_states_[path].round_trip.renew_shortest(shortest); }
  std::size_t packets_in_turn() const { return path_states_.packets_in_turn(path_, send_); }
  // A probe as long as any packet was answered.
  void path_answered(unsigned path) { send_.path_carries_all(path); }
  // What is in flight over the path counts as lost: it serves no longer.
  void give_up_path(unsigned path);
  // There is a sign that the path does not serve: what is in flight over it is waited for no longer than for a packet
  // that was overtaken.
  void doubt_path(unsigned path, Nanoseconds now) {
    PathState& state = path_states_[path];
    if (state.retransmit_at == UINT64_MAX || state.round_trip.smoothed() == 0) return;
    state.retransmit_at = std::min(state.retransmit_at, now + state.round_trip.patience());
  }
  // The paths, as bits, of which an acknowledgement since the last call, or since give_up_path(), has shown that they
  // carry data.
  std::uint32_t take_carriers() { return path_states_.take_carriers(); }
  bool has_room() const { return send_.has_slot() && send_.outstanding_bytes() < path_states_.room(); }
  // `tag` 0: nobody wants to know when the packet is acknowledged.
  void queue(std::byte* buffer, std::uint32_t payload_length, std::uint64_t tag) {
    send_.add(buffer, static_cast<std::uint32_t>(wire::kPacketHeaderSize) + payload_length, nullptr, 0, tag);
  }
  // The payload is head and data; the head is in `buffer`, behind the space for the packet header. `may_change`: the
  // data's owner may write to it at any time, and whatever is there when the packet leaves is right.
  void queue_with_data(std::byte* buffer, std::uint32_t head_length, const void* data, std::uint32_t data_length,
                       std::uint64_t tag, bool may_change = false) {
    send_.add(buffer, static_cast<std::uint32_t>(wire::kPacketHeaderSize) + head_length, data, data_length, tag,
              may_change);
  }
  // The same with a short head that the channel keeps. Returns where the caller writes it (8-byte aligned).
  std::byte* queue_referenced(std::uint32_t head_length, const void* data, std::uint32_t data_length, std::uint64_t tag,
                              bool may_change = false) {
    return send_.add(nullptr, static_cast<std::uint32_t>(wire::kPacketHeaderSize) + head_length, data, data_length, tag,
                     may_change) +
           wire::kPacketHeaderSize;
  }
  bool has_transmissions() const {
    if (is_striped()) return send_.anything_unsent() && next_path(0) != PathStates::kNone;
    return send_.has_transmission(window(), path_);
  }
  std::size_t collect(Nanoseconds now, std::span<Transmission> out);
  void commit(std::span<const Transmission> taken, Nanoseconds now);
  // `length`: bytes of the payload in `buffer`, behind the space for the packet header. Returns the packet, which
  // begins within that space if its header is a short one.
  bool may_pass() const {
    return peer_epoch_ != 0 && !send_.anything_unsent() && send_.may_add_sent() && has_room() && is_first_choice();
  }
  std::span<std::byte> address(std::byte* buffer, std::uint32_t length, Nanoseconds now);
  void passed(std::byte* buffer, std::uint32_t length, const std::byte* header, Nanoseconds now);
  bool take_completed(CompletedPacket& completed) { return send_.take_completed(completed); }

  // Gives up everything that is queued (take_completed() reports it); what is queued later travels as usual.
  void abandon();
  // The same when the peer has been silent for too long. If it may have taken something, the two begin anew: whatever
  // this incarnation of the peer sends next is answered with a new epoch of ours, so that it gives up what it waits
  // for. What is queued later is for that incarnation, too; it leaves when the peer has said whether it has begun anew
  // as well.
  void begin_anew();
  // False: it has happened with this incarnation of the peer as often as there are numbers for it. Later packets could
  // not be told from earlier ones, so the channel must not be used any more.
  bool may_begin_anew() const { return peer_epoch_ == 0 || !is_last_beginning(own_epoch_); }

  // ---- receiving ----
  // For a packet with a short header: whether it is from the incarnation that we know, and that one knew ours when it
  // sent the packet. If its tag is right, the tag becomes the association in `header`.
  bool is_from_peer(wire::PacketHeader& header, std::span<const std::byte> packet) {
    return (!context_.tagged || tag_is_right(header, packet)) && knows(header);
  }
  ReceiveOutcome receive(const wire::PacketHeader& header, std::span<const std::byte> payload, Nanoseconds now);
  // Of such a packet, and of any that was admitted: whether it has data that did not come before, or is not between the
  // incarnations that know each other. If not, receive() does no more than acknowledge and take acknowledgements.
  bool is_news(const wire::PacketHeader& header) const {
    const bool has_data = (header.flags & wire::kPacketHasData) != 0;
    if (header.is_short()) return !receive_.has_come(header.sequence);
    if (header.destination_epoch != own_epoch_) return true;
    if (peer_epoch_ != 0 && header.source_epoch == peer_epoch_) return has_data && !receive_.has_come(header.sequence);
    // Only the answer to the first packet, which asked for the peer's epoch, is none.
    return has_data || peer_epoch_ != 0 || given_up_ != 0;
  }
  // An early packet: what may be taken out of turn, and what may not. place() false: no room, as if it never arrived.
  bool place(Sequence sequence, Nanoseconds now) { return count_early(receive_.place(sequence, now)); }
  void hold(Sequence sequence, std::span<const std::byte> payload, Nanoseconds now) {
    count_early(receive_.hold(sequence, payload, now));
  }
  bool next_held(std::span<std::byte>& payload) const { return receive_.next_held(payload); }
  void taken(Nanoseconds now) { receive_.taken(now); }
  void refused() {
    receive_.refused();
    ++context_.counters.refused;
  }

  // ---- acknowledging ----
  bool ack_due(Nanoseconds now) const { return answer_ != 0 || receive_.ack_due(now, context_.ack_threshold); }
  // An acknowledgement is due and may not be delayed.
  bool must_acknowledge() const { return answer_ != 0 || receive_.must_acknowledge(context_.ack_threshold); }
  // Something has arrived that no acknowledgement has covered yet, whether one is due or not.
  bool ack_owed() const { return answer_ || receive_.ack_deadline() != UINT64_MAX; }
  bool saw_duplicate() const { return receive_.saw_duplicate(); }  // since the last acknowledgement
  // Writes wire::kLongestAck bytes at most. Returns how many.
  std::size_t encode_ack(std::byte* out, Nanoseconds now);
  // A packet that asks a path for an answer, or is one. `flag`: wire::kPacketPathProbe or kPacketPathAnswer. What `out`
  // has behind the header's place, zeros, makes it as long as it is to be.
  void encode_for_path(std::span<std::byte> out, std::uint8_t flag, Nanoseconds now);
  void ack_sent();

  // ---- time ----
  Nanoseconds next_deadline() const;  // UINT64_MAX: none; 0: something is due at once
  // Returns the paths, as bits, whose retransmission time-out has run out.
  std::uint32_t run_timers(Nanoseconds now);
  Nanoseconds waiting_since() const { return waiting_since_; }  // UINT64_MAX: nothing is unacknowledged
  Nanoseconds last_heard() const { return last_heard_; }  // newest packet of the peer's living incarnation; 0: none

  // ---- state, for the engine's decisions and for tests ----
  bool all_acknowledged() const { return send_.everything_settled(); }
  std::uint32_t packets_out() const { return send_.packets_out(); }
  std::uint32_t buffers_held() const { return send_.buffers_held(); }  // of the pool
  std::uint32_t peer() const { return peer_; }
  Epoch peer_epoch() const { return peer_epoch_; }  // 0: not known yet
  const RoundTrip& round_trip(unsigned path = 0) const { return path_states_[path].round_trip; }
  const Congestion& congestion(unsigned path = 0) const { return path_states_[path].congestion; }
  const PathTraffic& traffic(unsigned path) const { return send_.traffic(path); }
  std::size_t memory_bytes() const { return sizeof(*this) + send_.memory_bytes() + receive_.memory_bytes(); }

 private:
  bool count_early(bool kept) {
    if (!kept) ++context_.counters.dropped_early;
    return kept;
  }
  bool admit_epochs(const wire::PacketHeader& header, Nanoseconds now, ReceiveOutcome& outcome);
  [[gnu::noinline]] void peer_restarted();
  void forget_peer();
  Epoch latest_of_peer() const { return peer_epoch_ != 0 ? peer_epoch_ : given_up_; }
  bool is_too_early(Epoch of_peer) const {
    return latest_of_peer() != 0 && is_earlier_incarnation(of_peer, latest_of_peer());
  }
  bool is_for_later_incarnation(const wire::PacketHeader& header) const {
    const Epoch meant = header.destination_epoch;
    return meant != 0 && is_earlier_incarnation(own_epoch_, meant) && !is_same_incarnation(own_epoch_, meant);
  }
  void become_later_than(Epoch incarnation);
  Epoch own_epoch_towards(Epoch peer) const {
    return given_up_ == 0 || is_same_incarnation(peer, given_up_) ? own_epoch_ : first_epoch_;
  }
  bool admit_short(const wire::PacketHeader& header);
  bool knows(const wire::PacketHeader& header) const {
    return peer_epoch_ != 0 && header.association == received_association_;
  }
  void knows_peer(Epoch epoch);
  Sequence first_sequence(const wire::PacketHeader& header) const;
  void process_ack(const wire::PacketHeader& header, std::span<const std::byte> more_selective, Nanoseconds now);
  void take_news(unsigned path, const wire::PacketHeader& header, bool advanced, Nanoseconds now);
  void handle_losses(unsigned path);
  void restart_timer(unsigned path, bool advanced, Nanoseconds now);
  bool run_timers(unsigned path, Nanoseconds now);
  void encode_without_data(wire::PacketHeader& header, std::size_t length, std::byte* out) const;
  PathTiming timing_of(unsigned path) const override { return path_states_[path].timing(); }
  wire::PacketHeader fixed_header() const;
  wire::PacketHeader common_header(Nanoseconds now) const;
  void acknowledge_in(wire::PacketHeader& header, Nanoseconds now) const;
  bool may_be_short() const;
  void seal(wire::PacketHeader& header, const Transmission& packet, bool ask_for_ack) const;
  std::uint32_t writing_of(const wire::PacketHeader& header);
  bool tag_is_right(wire::PacketHeader& header, std::span<const std::byte> packet);
  void tag(wire::PacketHeader& header, std::span<std::byte> head, std::span<const std::byte> data) const;
  void count_sent();
  std::uint32_t sent_wraps(Sequence sequence) const;
  std::uint32_t received_wraps(Sequence sequence);
  void departed(std::size_t packets, bool restart_timer, Nanoseconds now);
  bool has_room_behind(std::uint32_t bytes) const {
    return send_.has_slots(2) && send_.outstanding_bytes() + bytes < path_states_.room();
  }
  PathState& over() { return path_states_[path_]; }
  const PathState& over() const { return path_states_[path_]; }
  // Bytes that may be in flight over the path. While the peer's epoch is unknown one packet asks for it: more would be
  // refused as well.
  std::uint64_t window() const { return peer_epoch_ != 0 ? path_states_.window(path_) : 1; }
  // Of several paths that carry together, the one that is used now.
  bool is_first_choice() const { return !path_states_.are_several() || next_path(0) == path_; }

  // What all headers of one moment say that matters to the peer: everything but the acknowledgement's delay.
  struct HeaderContent {
    std::uint64_t association = 0;
    std::uint64_t selective_ack = 0;
    Sequence cumulative_ack = 0;
    Sequence settled = 0;
    std::uint8_t flags = 0;
    bool operator==(const HeaderContent&) const = default;
  };

  ChannelContext& context_;
  std::uint32_t peer_;
  const std::uint32_t max_packet_;
  Epoch first_epoch_;  // of ours
  Epoch own_epoch_;    // towards the incarnation that was given up: later; towards any other one: the first
  Epoch peer_epoch_ = 0;
  Epoch given_up_ = 0;                      // the peer's epoch when it was last given up; 0: never
  std::uint64_t sent_association_ = 0;      // of what we send
  std::uint64_t received_association_ = 0;  // of what the peer sends, when its epoch is known
  SipKey sent_key_;                         // with tags: of what we send,
  SipKey received_key_;                     // and of what the peer sends
  std::uint64_t sent_next_ = 0;      // with tags: number of the next packet to send, with its wraps, when last computed
  std::uint64_t received_next_ = 0;  // the same for packets of the peer
  bool introduced_ = false;          // the peer has acknowledged a packet of ours, so it knows our epoch
  Epoch answer_ = 0;                 // an incarnation of the peer that must be told our epoch; 0: none
  Sequence sent_number_ = 0;         // difference between a packet's number on the wire and in the window
  HeaderContent written_;                   // in the headers that were written last,
  std::uint32_t writing_ = 1;               // how often it was something else before; never 0
  std::size_t offered_ = 0;                 // by the last collect()
  std::size_t most_changing_ = tuning::kMostPacketsInFlight;  // so many of them may be packets whose data may change
  unsigned path_ = 0;                                         // that packets leave over
  SendWindow send_;
  ReceiveWindow receive_;
  PathStates path_states_;
  Nanoseconds waiting_since_ = UINT64_MAX;
  Nanoseconds last_heard_ = 0;
};

}  // namespace openlapi
