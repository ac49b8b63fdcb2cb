// Records and long messages leave: into the transport at once when there is room, else they wait, copied.
#include <algorithm>
#include <cstring>
#include <new>

#include "dataplane/endpoint/endpoint_core.h"
#include "dataplane/endpoint/served_packet.h"
#include "dataplane/message/fragments.h"
#include "dataplane/reliability/fair_share.h"
#include "dataplane/tuning.h"

namespace openlapi {

namespace {

// Over a channel, records of user memory that is not copied leave with the next transmit().
bool needs_transmit(const Peer& peer, const OutgoingMessage& message) {
  return message.referenced || (message.source != nullptr && !peer.is_direct());
}

}  // namespace

bool EndpointCore::send_record(Peer& peer, Pieces pieces, std::uint32_t length) {
  if (peer.direct != nullptr) {
    if (peer.untold && !tell_beginning(peer)) [[unlikely]]
      return false;
    const OutgoingPacket packet{pieces, length};
    if (peer.direct->send_burst(peer.index, {&packet, 1}) == 0) return false;
    ++statistics_of(peer).packets_sent;
    return true;
  }
  return peer.channel->send(pieces, length);
}

void EndpointCore::queue_record(Peer& peer, Pieces pieces, std::uint32_t length, bool user_copy) {
  QueuedRecord record{std::make_unique_for_overwrite<std::byte[]>(length), length, user_copy};
  copy_pieces(record.bytes.get(), pieces);
  enqueue(peer, std::move(record));
}

void EndpointCore::enqueue(Peer& peer, QueuedRecord record) {
  if (record.user_copy) take_copy(peer);
  peer.backlog.push_back(std::move(record));
  look_whether_pending(peer);
}

// The engine's own records: never refused.
void EndpointCore::post(Peer& peer, Pieces pieces, std::uint32_t length) {
  if (!peer.backlog.empty() || !send_record(peer, pieces, length)) queue_record(peer, pieces, length, false);
}

// As post(), of what the peer has asked for.
void EndpointCore::post_answer(Peer& peer, ConstBuffer record) {
  const auto length = static_cast<std::uint32_t>(record.length);
  if (peer.backlog.empty() && send_record(peer, {&record, 1}, length)) return;
  if (!may_keep(peer, length)) return;
  queue_record(peer, {&record, 1}, length, false);
  peer.backlog.back().kept = {peer.kept, length};
}

unsigned EndpointCore::flush_backlog(Peer& peer) {
  unsigned sent = 0;
  if (peer.untold) {
    if (!tell_beginning(peer)) return 0;
    ++sent;
  }
  while (!peer.backlog.empty()) {
    const QueuedRecord& record = peer.backlog.front();
    const ConstBuffer piece{record.bytes.get(), record.length};
    if (!send_record(peer, {&piece, 1}, record.length)) break;
    if (record.user_copy) return_copy(peer);
    peer.backlog.pop_front();
    ++sent;
  }
  return sent;
}

// After every change of what waits for room towards the peer.
void EndpointCore::look_whether_pending(Peer& peer) {
  const bool pending = peer.untold || !peer.backlog.empty() || !peer.outgoing.sending.empty();
  if (pending == peer.pending) return;
  peer.pending = pending;
  if (pending) {
    pending_peers_.push_back(peer);
    ++pending_count_;
  } else {
    pending_peers_.remove(peer);
    --pending_count_;
  }
}

// A bounded number of peers per step, each in its turn: one that has no room costs a look.
unsigned EndpointCore::serve_pending_peers() {
  unsigned moved = 0;
  for (std::size_t turns = std::min(pending_count_, tuning::kPeersPerStep); turns != 0; --turns) {
    Peer& peer = *pending_peers_.first();
    pending_peers_.remove(peer);
    pending_peers_.push_back(peer);
    moved += flush_backlog(peer);
    if (peer.backlog.empty()) moved += pump_queue(peer);
    look_whether_pending(peer);
  }
  return moved;
}

// Ids come round; one that is in use is passed over.
void EndpointCore::give_number(OutgoingMessage& message) {
  do {
    message.number = next_message_++;
    message.id = static_cast<std::uint32_t>((message.number - 1) % UINT32_MAX) + 1;
  } while (outgoing_.find(message.id) != nullptr);
}

OutgoingMessage& EndpointCore::store(OutgoingMessage message) {
  Peer& peer = *peers_[message.peer];
  OutgoingMessage& stored = outgoing_.add(peer.outgoing, std::move(message));
  look_whether_pending(peer);
  return stored;
}

// Null: there is no memory for it, and the peer knows; or it is more than the peer may have here.
OutgoingMessage* EndpointCore::store_answer(Peer& peer, OutgoingMessage message, std::uint32_t request_id) {
  if (!may_keep(peer, message.description.size())) return nullptr;
  message.kept = {peer.kept, message.description.size()};
  try {
    return &store(std::move(message));
  } catch (const std::bad_alloc&) {
    no_memory_for(peer, request_id);
    return nullptr;
  }
}

// Null: keep_copy() will find as much.
std::unique_ptr<std::byte[]> EndpointCore::room_for_long_copy(std::uint64_t bytes) {
  return bytes > tuning::kSurelyFindsMemory ? std::make_unique_for_overwrite<std::byte[]>(bytes) : nullptr;
}

// `room`: of room_for_long_copy(), with the message's length.
void EndpointCore::keep_copy(OutgoingMessage& message, std::unique_ptr<std::byte[]> room) {
  const std::uint64_t left = message.total - message.offset;
  message.copy = room != nullptr ? std::move(room) : std::make_unique_for_overwrite<std::byte[]>(left);
  if (left != 0) std::memcpy(message.copy.get(), message.unsent(), left);
  message.data = message.copy.get();
  message.data_begin = message.offset;
  take_copy(*peers_[message.peer]);
}

// Sends one fragment; false: no room. The program that owns what a get asks for may go on writing there.
bool EndpointCore::send_fragment(Peer& peer, OutgoingMessage& message) {
  const bool answer = message.kind == wire::RecordKind::get_data;
  RecordBytes fixed = message.first_sent || answer ? later_fragment(message) : first_fragment(message);
  const auto header_bytes = static_cast<std::uint32_t>(message.first_sent ? 0 : message.user_header.size());
  const std::uint32_t room = (peer.max_record - fixed.length() - header_bytes) & ~7u;
  const std::uint64_t bytes = std::min<std::uint64_t>(room, message.total - message.offset);
  fixed.user_header_length(header_bytes).payload_length(bytes);

  const ConstBuffer pieces[] = {
      fixed.piece(), {message.user_header.data(), header_bytes}, {message.unsent(), static_cast<std::size_t>(bytes)}};
  const auto length = static_cast<std::uint32_t>(fixed.length() + header_bytes + bytes);
  if (message.referenced) {
    if (!peer.channel->send_referenced(std::span(pieces, 2), pieces[2], message.id, answer)) return false;
    ++message.unacknowledged;
  } else if (!send_record(peer, pieces, length)) {
    return false;
  }
  fragment_left(peer, message, bytes);
  return true;
}

void EndpointCore::fragment_left(Peer& peer, OutgoingMessage& message, std::uint64_t bytes) {
  message.offset += bytes;
  if (message.first_sent) return;
  outgoing_.begin(peer.outgoing, message);
  if (!peer.held_fences.empty()) [[unlikely]]
    ask_held_fences(peer);
}

// Sends what there is room for; true: everything has been handed over. Answers to what arrives leave together, at the
// end of the step.
bool EndpointCore::pump(Peer& peer, OutgoingMessage& message) {
  const bool done = send_fragments(peer, message);
  if (needs_transmit(peer, message) && !channels_->is_receiving()) peer.channel->transmit(clock_.now());
  return done;
}

bool EndpointCore::send_fragments(Peer& peer, OutgoingMessage& message) {
  const MovedMessage moved(&message);
  bool done = message.offset == message.total && (message.first_sent || message.total != 0);
  const bool layout = message.source != nullptr;
  for (unsigned n = 0; !done && n < tuning::kFragmentsPerTurn; ++n) {
    if (!(layout ? send_layout_fragment(peer, message) : send_fragment(peer, message))) break;
    done = message.offset == message.total;
  }
  return done;
}

// Every message in its turn, until one finds no room: then none behind it would.
unsigned EndpointCore::pump_queue(Peer& peer) {
  unsigned moved = 0;
  bool transmit = false;
  for (OutgoingMessage* next = peer.outgoing.sending.first(); next != nullptr && peer.backlog.empty();) {
    OutgoingMessage& message = *next;
    next = peer.outgoing.sending.next(message);
    const std::uint64_t before = message.offset;
    const bool done = send_fragments(peer, message);
    if (!done && message.offset == before) break;
    ++moved;
    transmit = transmit || needs_transmit(peer, message);
    if (done) finish_sending(message);
  }
  if (transmit) peer.channel->transmit(clock_.now());
  return moved;
}

// Everything was handed to the path: the message ends, unless its packets still point into the user's memory.
void EndpointCore::finish_sending(OutgoingMessage& message) {
  set_stage(message, OutgoingMessage::Stage::awaiting_acks);
  if (message.unacknowledged != 0) return;
  if (message.copy != nullptr) return_copy(*peers_[message.peer]);
  {
    const MovedMessage moved(&message);
    origin_is_free(message.peer, {message.free_counter, message.free_handler});
  }
  if (message.counts_as_send) count_sent(*peers_[message.peer], message.total);
  forget(message);
}

void EndpointCore::set_stage(OutgoingMessage& message, OutgoingMessage::Stage stage) {
  Peer& peer = *peers_[message.peer];
  outgoing_.set_stage(peer.outgoing, message, stage);
  look_whether_pending(peer);
}

void EndpointCore::forget(OutgoingMessage& message) {
  Peer& peer = *peers_[message.peer];
  outgoing_.remove(peer.outgoing, message);
  look_whether_pending(peer);
}

bool EndpointCore::requests_exhausted(Peer& peer) const {
  if (inline_depth_ != 0) {
    return handlers_bounded() && (peer.requests_waiting >= tuning::kMostRequestsOfHandlersPerPeer ||
                                  requests_.size() >= tuning::kMostRequestsOfHandlers);
  }
  const std::uint32_t room = peer.requests_full ? tuning::kRequestsThatLeaveTogether : 1;
  peer.requests_full = peer.requests_waiting + room > tuning::kMostRequestsPerPeer;
  return peer.backlog.size() >= config_.copy_buffers || peer.requests_full ||
         !may_take(peer.requests_waiting, requests_.size(), tuning::kMostRequests);
}

bool EndpointCore::copies_exhausted(const Peer& peer) const {
  if (inline_depth_ != 0) return handlers_bounded() && copies_waiting_ >= tuning::kMostCopiesOfHandlers;
  return !may_take(peer.copies_waiting, copies_waiting_, config_.copy_buffers);
}

bool EndpointCore::keeps_exhausted(const Peer& peer) const {
  const std::uint64_t kept = outgoing_.kept_bytes() + list_bytes_;
  if (inline_depth_ != 0) return handlers_bounded() && kept >= tuning::kMostKeptBytesOfHandlers;
  return !may_take(peer.outgoing.kept_bytes + peer.list_bytes, kept, tuning::kMostKeptBytes);
}

// Of messages to oneself that have to wait.
bool EndpointCore::own_exhausted() const {
  if (inline_depth_ != 0) return handlers_bounded() && own_waiting_ >= tuning::kMostCopiesOfHandlers;
  return own_waiting_ >= config_.copy_buffers;
}

void EndpointCore::take_copy(Peer& peer) {
  ++peer.copies_waiting;
  ++copies_waiting_;
}

void EndpointCore::return_copy(Peer& peer) {
  --peer.copies_waiting;
  --copies_waiting_;
}

void EndpointCore::channel_acknowledged(PeerIndex, std::uint64_t tag) {
  OutgoingMessage* const found = outgoing_.find(static_cast<std::uint32_t>(tag));
  if (found == nullptr) return;
  OutgoingMessage& message = *found;
  --message.unacknowledged;
  if (message.stage == OutgoingMessage::Stage::awaiting_acks && message.unacknowledged == 0) finish_sending(message);
}

}  // namespace openlapi
