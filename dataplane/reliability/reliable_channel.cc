#include "dataplane/reliability/reliable_channel.h"

#include <algorithm>
#include <array>
#include <utility>

#include "dataplane/base/check.h"
#include "dataplane/wire/association.h"
#include "dataplane/wire/packet_tag.h"

namespace openlapi {

namespace {

std::uint32_t most_packets(const ChannelLimits& limits) {
  return std::clamp(limits.max_packets, 1u, tuning::kMostPacketsInFlight);
}

// Where fewer packets may be on their way than usual, so may their bytes: acknowledgements are asked for in time then.
std::uint64_t most_bytes(const ChannelContext& context, const ChannelLimits& limits) {
  if (limits.max_packets >= tuning::kMostPacketsInFlight) return context.most_bytes_in_flight;
  const std::uint64_t longest = std::min(context.max_packet, limits.max_packet);
  return std::min(context.most_bytes_in_flight, most_packets(limits) * longest);
}

}  // namespace

ReliableChannel::ReliableChannel(ChannelContext& context, std::uint32_t peer, ChannelEpochs epochs,
                                 ChannelLimits limits)
    : context_(context),
      peer_(peer),
      max_packet_(std::min(context.max_packet, limits.max_packet)),
      first_epoch_(epochs.own != 0 ? epochs.own : context.epoch),
      own_epoch_(first_epoch_),
      send_(*context.pool, context.first_in_window, most_packets(limits)),
      receive_(*context.pool),
      path_states_(max_packet_, most_bytes(context, limits)) {
  knows_peer(epochs.peer);
  OPENLAPI_CHECK(max_packet_ > wire::kPacketHeaderSize && context.max_packet <= wire::kLongestPacket);
  OPENLAPI_CHECK(context.pool->buffer_bytes() >= context.max_packet);
  OPENLAPI_CHECK(own_epoch_ != 0);
}

void ReliableChannel::add_path() {
  OPENLAPI_CHECK(paths() < tuning::kMaxPathsPerPeer);
  path_states_.add();
  send_.add_path();
}

// These two are inline: every packet passes here once, and its callers keep the fields in registers.

// What all packets to the peer have in common.
inline wire::PacketHeader ReliableChannel::fixed_header() const {
  wire::PacketHeader header;
  header.instance = context_.instance;
  header.association = sent_association_;
  header.source = context_.self;
  header.destination = peer_;
  header.source_epoch = own_epoch_;
  header.destination_epoch = peer_epoch_;
  return header;
}

// What has arrived so far, but for packets behind a gap.
inline void ReliableChannel::acknowledge_in(wire::PacketHeader& header, Nanoseconds now) const {
  if (!receive_.established()) return;
  header.flags |= wire::kPacketHasAck;
  if (receive_.saw_duplicate()) header.flags |= wire::kPacketSawDuplicate;
  header.cumulative_ack = receive_.next();
  header.ack_delay = receive_.ack_delay(now);
}

inline wire::PacketHeader ReliableChannel::common_header(Nanoseconds now) const {
  wire::PacketHeader header = fixed_header();
  header.sequence = send_.next() + sent_number_;
  if (context_.checksum) header.flags = wire::kPacketHasChecksum;
  acknowledge_in(header, now);
  if (receive_.established()) header.selective_ack = receive_.selective();
  return header;
}

Sequence ReliableChannel::first_sequence(const wire::PacketHeader& header) const {
  return context_.first_sequence.value_or(wire::first_sequence_of(context_.job_key, header));
}

// Both know where the numbers of this pair of incarnations begin, in both directions. Nothing of what is in the window
// has been taken by that incarnation of the peer.
void ReliableChannel::knows_peer(Epoch epoch) {
  peer_epoch_ = epoch;
  wire::PacketHeader header = fixed_header();
  sent_association_ = wire::association_of(context_.job_key, header);
  sent_key_ = wire::tag_key_of(context_.job_key, header);
  const Sequence first = first_sequence(header);
  sent_number_ = first - send_.settled();
  sent_next_ = std::uint64_t{first} + send_.packets_out();
  if (epoch == 0) return;
  std::swap(header.source, header.destination);
  std::swap(header.source_epoch, header.destination_epoch);
  received_key_ = wire::tag_key_of(context_.job_key, header);
  received_next_ = first_sequence(header);
  receive_.begin(static_cast<Sequence>(received_next_));
  received_association_ = wire::association_of(context_.job_key, header);
}

// Before numbers are looked at: fewer than 2^32 packets have been sent since the last time.
inline void ReliableChannel::count_sent() {
  sent_next_ += static_cast<Sequence>(send_.next() + sent_number_ - static_cast<Sequence>(sent_next_));
}

// Of a number at or before the next one.
inline std::uint32_t ReliableChannel::sent_wraps(Sequence sequence) const {
  return static_cast<std::uint32_t>((sent_next_ - (static_cast<Sequence>(sent_next_) - sequence)) >> 32);
}

// Of a number near the one that is expected.
inline std::uint32_t ReliableChannel::received_wraps(Sequence sequence) {
  received_next_ += static_cast<Sequence>(receive_.next() - static_cast<Sequence>(received_next_));
  const std::int64_t steps = distance(receive_.next(), sequence);
  return static_cast<std::uint32_t>((received_next_ + static_cast<std::uint64_t>(steps)) >> 32);
}

// Writes the header of a packet, whose payload is there, with its tag.
void ReliableChannel::tag(wire::PacketHeader& header, std::span<std::byte> head,
                          std::span<const std::byte> data) const {
  const std::uint32_t wraps = sent_wraps(header.sequence);
  if (!header.is_short()) header.wraps() = wraps;
  wire::encode(header, head.data());
  const bool to_known = header.is_short() || header.destination_epoch == peer_epoch_;
  const SipKey key = to_known ? sent_key_ : wire::tag_key_of(context_.job_key, header);
  wire::store_tag(head.data(), wire::packet_tag(key, wraps, head, data));
}

bool ReliableChannel::tag_is_right(wire::PacketHeader& header, std::span<const std::byte> packet) {
  if (wire::packet_tag(received_key_, received_wraps(header.sequence), packet, {}) != header.association) return false;
  header.association = received_association_;
  return true;
}

// Writes the header of one packet; `header` has what all packets of this moment have in common.
inline void ReliableChannel::seal(wire::PacketHeader& header, const Transmission& packet, bool ask_for_ack) const {
  header.flags |= wire::kPacketHasData | wire::kPacketAckWanted;
  if (!ask_for_ack) header.flags &= static_cast<std::uint8_t>(~wire::kPacketAckWanted);
  header.sequence = packet.sequence + sent_number_;
  header.ahead = static_cast<std::uint16_t>(packet.sequence - send_.settled());
  header.length = static_cast<std::uint16_t>(packet.length());
  if (context_.tagged) {
    return tag(header, {packet.head, packet.head_length},
               {static_cast<const std::byte*>(packet.data), packet.data_length});
  }
  wire::encode(header, packet.head);
  if (context_.checksum) {
    wire::store_checksum(packet.head,
                         wire::packet_checksum({packet.head, packet.head_length},
                                               {static_cast<const std::byte*>(packet.data), packet.data_length}));
  }
}

// The number of the present writing of headers: another one when they say something else than the last time.
std::uint32_t ReliableChannel::writing_of(const wire::PacketHeader& header) {
  const HeaderContent content{header.association, header.selective_ack, header.cumulative_ack, send_.settled(),
                              header.flags};
  if (content != written_) {
    written_ = content;
    if (++writing_ == 0) writing_ = 1;
  }
  return writing_;
}

// A packet that the transport has not taken keeps its header while that is right: a full transport is asked again and
// again, and a tag or a checksum reads the whole packet. Over data that may change they are made at each try, so one
// such packet tries alone then, and more as long as all are taken.
std::size_t ReliableChannel::collect(Nanoseconds now, std::span<Transmission> out) {
  offered_ = send_.collect(window(), out, path_);
  if (offered_ == 0) return 0;

  if (context_.tagged) count_sent();
  wire::PacketHeader header = common_header(now);
  const std::uint32_t writing = writing_of(header);
  const std::uint64_t half_window = path_states_.window(path_) / 2;
  std::uint64_t since_request = over().bytes_since_request;
  std::size_t changing = 0;
  for (std::size_t i = 0; i < offered_; ++i) {
    const Transmission& packet = out[i];
    if (packet.data_may_change && ++changing > most_changing_) offered_ = i;
    if (i == offered_) break;
    // Half a window without an answer, or nothing can follow before one: waiting for the peer's batch would stall.
    since_request += packet.length();
    const bool last = packet.sequence + 1 == send_.next() && !has_room();
    const bool ask = packet.again || last || since_request >= half_window;
    if (ask) since_request = 0;
    if (packet.writing == writing && wire::asks_for_ack(packet.head) == ask) continue;
    seal(header, packet, ask);
    send_.header_written(packet.sequence, writing);
  }
  return offered_;
}

void ReliableChannel::commit(std::span<const Transmission> taken, Nanoseconds now) {
  const bool all = taken.size() == offered_;
  most_changing_ = all ? std::min<std::size_t>(2 * most_changing_, tuning::kMostPacketsInFlight) : 1;
  over().took_all = all;
  if (offered_ != 0 && waiting_since_ == UINT64_MAX) waiting_since_ = now;
  if (taken.empty() && offered_ != 0 && paths() != 1) over().transport_is_full(now);
  if (taken.empty()) return;
  over().transport_takes();
  bool oldest_again = false;
  std::uint64_t& since_request = over().bytes_since_request;
  for (const Transmission& packet : taken) {
    since_request = wire::asks_for_ack(packet.head) ? 0 : since_request + packet.length();
    oldest_again |= packet.again && packet.sequence == send_.settled();
  }
  path_states_.departs(path_, send_, now);
  context_.counters.retransmits += send_.transmitted(taken, now, path_);
  departed(taken.size(), oldest_again, now);
}

inline void ReliableChannel::departed(std::size_t packets, bool restart_timer, Nanoseconds now) {
  context_.counters.packets_sent += packets;
  // A packet with data says what its header has a place for: an acknowledgement that says more is still due.
  if (!receive_.reaches_beyond_header()) receive_.acknowledged();
  PathState& path = over();
  if (restart_timer || path.retransmit_at == UINT64_MAX) path.retransmit_at = now + path.round_trip.timeout();
  if (waiting_since_ == UINT64_MAX) waiting_since_ = now;
}

// Whoever retransmits it writes the long header: the window counts that one's length.
std::span<std::byte> ReliableChannel::address(std::byte* buffer, std::uint32_t length, Nanoseconds now) {
  const std::uint32_t bytes = static_cast<std::uint32_t>(wire::kPacketHeaderSize) + length;
  const PathState& path = over();
  const bool ask = !has_room_behind(bytes) || path.bytes_since_request + bytes >= path_states_.window(path_) / 2;
  if (context_.tagged) count_sent();
  if (!may_be_short()) {
    wire::PacketHeader header = common_header(now);
    seal(header, {buffer, nullptr, bytes, 0, send_.next(), 0, false, false}, ask);
    return {buffer, bytes};
  }
  wire::PacketHeader header;
  header.flags = wire::kPacketHasData | wire::kPacketShort | (ask ? wire::kPacketAckWanted : 0);
  acknowledge_in(header, now);
  header.ahead = static_cast<std::uint16_t>(send_.next() - send_.settled());
  header.association = sent_association_;
  header.source = context_.self;
  header.sequence = send_.next() + sent_number_;
  static_assert(tuning::kMostPacketsInFlight <= 1u << wire::kShortAheadBits);
  std::byte* const begin = buffer + wire::kPacketHeaderSize - wire::kShortHeaderSize;
  const std::span<std::byte> packet(begin, wire::kShortHeaderSize + length);
  if (context_.tagged) {
    tag(header, packet, {});
  } else {
    wire::encode(header, begin);
  }
  return packet;
}

// The peer knows us, and there is nothing to say that only a long header has a place for.
inline bool ReliableChannel::may_be_short() const {
  return introduced_ && !context_.checksum && receive_.selective() == 0;
}

void ReliableChannel::passed(std::byte* buffer, std::uint32_t length, const std::byte* header, Nanoseconds now) {
  const std::uint32_t bytes = static_cast<std::uint32_t>(wire::kPacketHeaderSize) + length;
  std::uint64_t& since_request = over().bytes_since_request;
  since_request = wire::asks_for_ack(header) ? 0 : since_request + bytes;
  path_states_.departs(path_, send_, now);
  send_.add_sent(buffer, bytes, now, path_);
  departed(1, false, now);
}

void ReliableChannel::abandon() {
  send_.abandon();
  introduced_ = false;
  waiting_since_ = UINT64_MAX;
  path_states_.stop_timers();
}

void ReliableChannel::begin_anew() {
  OPENLAPI_CHECK(may_begin_anew());
  if (peer_epoch_ == 0) return abandon();
  given_up_ = peer_epoch_;
  ++own_epoch_;
  forget_peer();
  knows_peer(0);
}

void ReliableChannel::peer_restarted() {
  forget_peer();
  ++context_.counters.peer_restarts;
}

// Nobody has taken anything from this incarnation yet: what it has sent was turned away. One that was heard before is
// not the newest any more, and leaves its place to the one that is.
void ReliableChannel::become_later_than(Epoch incarnation) {
  first_epoch_ = own_epoch_ = incarnation_after(incarnation);
  send_.resend_all();
  knows_peer(peer_epoch_);
}

// All that was on the way between the two incarnations, and learnt of it.
void ReliableChannel::forget_peer() {
  abandon();
  receive_.forget();
  path_states_.reset();
  answer_ = 0;
}

namespace {

// What its sender sends again until it is answered. A probe may be all that arrives.
bool wants_answer(const wire::PacketHeader& header) {
  return (header.flags & (wire::kPacketHasData | wire::kPacketPathProbe)) != 0;
}

}  // namespace

// Only packets that are meant for this incarnation teach the peer's: one that is not may be a late packet of a former
// incarnation of the peer, and what is sent to that incarnation would be lost.
// An incarnation of the peer that was never given up may know nothing of that: it names our first epoch, or, since it
// was asked for its own before we knew which one it is, the present one.
bool ReliableChannel::admit_epochs(const wire::PacketHeader& header, Nanoseconds now, ReceiveOutcome& outcome) {
  const bool known = peer_epoch_ != 0;
  if (is_too_early(header.source_epoch)) {
    ++context_.counters.ghosts;
    if (wants_answer(header)) answer_ = latest_of_peer();
    return false;
  }
  const Epoch own = own_epoch_towards(header.source_epoch);
  if (header.destination_epoch != own && header.destination_epoch != own_epoch_) {
    if (header.destination_epoch != 0) ++context_.counters.ghosts;
    if (last_heard_ == 0 && is_for_later_incarnation(header)) become_later_than(header.destination_epoch);
    if (wants_answer(header)) answer_ = header.source_epoch;
    return false;
  }
  if (header.source_epoch == peer_epoch_) {
    // Its number has come round again: somebody has kept it for that long.
    const bool again = context_.tagged && header.wraps() != received_wraps(header.sequence);
    if (again) ++context_.counters.ghosts;
    return !again;
  }
  const bool meant_for_it = !known && (given_up_ == 0 || is_same_incarnation(header.source_epoch, given_up_));
  if (meant_for_it) {
    send_.resend_all();  // what has been sent did not name this incarnation and was turned away
    if (waiting_since_ != UINT64_MAX) waiting_since_ = now;  // nobody was there to take it
  } else {
    outcome.nothing_taken = last_heard_ == 0 && !all_acknowledged();
    outcome.gave_up = known && is_same_incarnation(header.source_epoch, peer_epoch_);
    peer_restarted();
    outcome.peer_restarted = true;
  }
  own_epoch_ = own;
  knows_peer(header.source_epoch);
  return header.destination_epoch == own;
}

inline bool ReliableChannel::admit_short(const wire::PacketHeader& header) {
  if (knows(header)) return true;
  ++context_.counters.ghosts;
  return false;
}

ReceiveOutcome ReliableChannel::receive(const wire::PacketHeader& header, std::span<const std::byte> payload,
                                        Nanoseconds now) {
  ReceiveOutcome outcome;
  if (!(header.is_short() ? admit_short(header) : admit_epochs(header, now, outcome))) return outcome;
  last_heard_ = now;
  const bool has_data = (header.flags & wire::kPacketHasData) != 0;
  const bool is_ack = (header.flags & (wire::kPacketHasData | wire::kPacketPathProbe)) == 0;
  const std::span<const std::byte> more_selective = is_ack ? payload : std::span<const std::byte>();
  if ((header.flags & wire::kPacketHasAck) != 0) process_ack(header, more_selective, now);
  const bool ack_wanted = (header.flags & wire::kPacketAckWanted) != 0;
  if (!has_data) {
    if (ack_wanted) answer_ = peer_epoch_;
    outcome.has_news = header.tells_addresses();
    if (outcome.has_news) return outcome;
    outcome.path_probed = (header.flags & wire::kPacketPathProbe) != 0;
    outcome.path_answered = (header.flags & wire::kPacketPathAnswer) != 0;
    return outcome;
  }

  ReliabilityCounters& counters = context_.counters;
  outcome.has_data = true;
  switch (receive_.offer(header.sequence, header.ahead, ack_wanted, now)) {
    case ArrivalVerdict::in_order:
      outcome.deliver = true;
      break;
    case ArrivalVerdict::duplicate:
      ++counters.duplicates;
      break;
    case ArrivalVerdict::early:
      ++counters.early;
      outcome.early = true;
      break;
    case ArrivalVerdict::malformed:
      ++counters.malformed;
      break;
  }
  return outcome;
}

std::size_t ReliableChannel::encode_ack(std::byte* out, Nanoseconds now) {
  count_sent();
  wire::PacketHeader header = common_header(now);
  std::size_t length = wire::kPacketHeaderSize;
  if (answer_ != 0 && answer_ != peer_epoch_) {
    // Not the incarnation that our acknowledgements are about.
    header.source_epoch = own_epoch_towards(answer_);
    header.destination_epoch = answer_;
    header.association = wire::association_of(context_.job_key, header);
    header.flags &= wire::kPacketHasChecksum;
  } else {
    std::array<std::uint64_t, wire::kMostSelectiveWords - 1> words;
    const std::size_t count = receive_.wider_selective(words);
    wire::encode_selective({words.data(), count}, out + length);
    length += count * sizeof(std::uint64_t);
  }
  encode_without_data(header, length, out);
  return length;
}

void ReliableChannel::encode_for_path(std::span<std::byte> out, std::uint8_t flag, Nanoseconds now) {
  count_sent();
  wire::PacketHeader header = common_header(now);
  header.flags |= flag;
  encode_without_data(header, out.size(), out.data());
  ++context_.counters.packets_sent;
}

// What follows the header is there.
void ReliableChannel::encode_without_data(wire::PacketHeader& header, std::size_t length, std::byte* out) const {
  header.length = static_cast<std::uint16_t>(length);
  if (context_.tagged) return tag(header, {out, length}, {});
  wire::encode(header, out);
  if (context_.checksum) wire::store_checksum(out, wire::packet_checksum({out, length}, {}));
}

void ReliableChannel::ack_sent() {
  const bool was_ack = answer_ == 0 || answer_ == peer_epoch_;
  answer_ = 0;
  if (was_ack) receive_.acknowledged();
  ++context_.counters.packets_sent;
  ++context_.counters.acks_sent;
}

}  // namespace openlapi
