// Records and long messages leave: into the transport at once when there is room, else they wait, copied.
#include <algorithm>
#include <cstring>
#include <new>

#include "dataplane/endpoint/endpoint_core.h"
#include "dataplane/endpoint/endpoint_records.h"
#include "dataplane/reliability/fair_share.h"
#include "dataplane/tuning.h"

namespace openlapi {

bool EndpointCore::send_record(Peer& peer, Pieces pieces, std::uint32_t length) {
  if (peer.direct != nullptr) {
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
  if (peer.backlog.empty()) ++backlogged_peers_;
  peer.backlog.push_back(std::move(record));
}

// The engine's own records: never refused.
void EndpointCore::post(Peer& peer, Pieces pieces, std::uint32_t length) {
  if (!peer.backlog.empty() || !send_record(peer, pieces, length)) queue_record(peer, pieces, length, false);
}

unsigned EndpointCore::flush_backlog(Peer& peer) {
  unsigned sent = 0;
  while (!peer.backlog.empty()) {
    const QueuedRecord& record = peer.backlog.front();
    const ConstBuffer piece{record.bytes.get(), record.length};
    if (!send_record(peer, {&piece, 1}, record.length)) break;
    if (record.user_copy) return_copy(peer);
    peer.backlog.pop_front();
    ++sent;
  }
  if (sent != 0) peer.stuck_since = 0;
  if (peer.backlog.empty() && sent != 0) --backlogged_peers_;
  return sent;
}

unsigned EndpointCore::flush_backlogs() {
  if (backlogged_peers_ == 0) return 0;
  unsigned sent = 0;
  for (Peer* peer : contacted_) sent += flush_backlog(*peer);
  return sent;
}

OutgoingMessage& EndpointCore::store(OutgoingMessage message) {
  const std::uint32_t id = message.id;
  OutgoingMessage& stored = outgoing_.emplace(id, std::move(message)).first->second;
  if (stored.stage == OutgoingMessage::Stage::sending) ++sending_;
  return stored;
}

// Null: there is no memory for it, and the peer knows.
OutgoingMessage* EndpointCore::store_answer(Peer& peer, OutgoingMessage message, std::uint32_t request_id) {
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

// Sends one fragment; false: no room.
bool EndpointCore::send_fragment(Peer& peer, OutgoingMessage& message) {
  RecordBytes fixed = message.first_sent || message.kind == wire::RecordKind::get_data ? later_fragment(message)
                                                                                       : first_fragment(message);
  const auto header_bytes = static_cast<std::uint32_t>(message.first_sent ? 0 : message.user_header.size());
  const std::uint32_t room = (peer.max_record - fixed.length() - header_bytes) & ~7u;
  const std::uint64_t bytes = std::min<std::uint64_t>(room, message.total - message.offset);
  fixed.user_header_length(header_bytes).payload_length(bytes);

  const ConstBuffer pieces[] = {
      fixed.piece(), {message.user_header.data(), header_bytes}, {message.unsent(), static_cast<std::size_t>(bytes)}};
  const auto length = static_cast<std::uint32_t>(fixed.length() + header_bytes + bytes);
  if (message.referenced) {
    if (!peer.channel->send_referenced(std::span(pieces, 2), pieces[2], message.id)) return false;
    ++message.unacknowledged;
  } else if (!send_record(peer, pieces, length)) {
    return false;
  }
  message.first_sent = true;
  message.offset += bytes;
  if (!peer.held_fences.empty()) [[unlikely]]
    ask_held_fences(peer);
  return true;
}

// Sends what there is room for; true: everything has been handed over.
bool EndpointCore::pump(Peer& peer, OutgoingMessage& message) {
  bool done = message.offset == message.total && (message.first_sent || message.total != 0);
  const bool layout = message.source != nullptr;
  for (unsigned n = 0; !done && n < tuning::kFragmentsPerTurn; ++n) {
    if (!(layout ? send_layout_fragment(peer, message) : send_fragment(peer, message))) break;
    done = message.offset == message.total;
  }
  if (message.referenced || (layout && !peer.is_direct())) peer.channel->transmit(clock_.now());
  return done;
}

unsigned EndpointCore::pump_outgoing() {
  unsigned moved = 0;
  for (auto next = outgoing_.begin(); next != outgoing_.end();) {
    OutgoingMessage& message = next->second;
    ++next;
    if (message.stage != OutgoingMessage::Stage::sending) continue;
    Peer& peer = *peers_[message.peer];
    if (!peer.backlog.empty()) continue;
    const std::uint64_t before = message.offset;
    if (pump(peer, message)) {
      ++moved;
      finish_sending(message);
    } else if (message.offset != before) {
      ++moved;
    }
  }
  return moved;
}

// Everything was handed to the path: the message ends, unless its packets still point into the user's memory.
void EndpointCore::finish_sending(OutgoingMessage& message) {
  set_stage(message, OutgoingMessage::Stage::awaiting_acks);
  if (message.unacknowledged != 0) return;
  if (message.copy != nullptr) return_copy(*peers_[message.peer]);
  origin_is_free(message.peer, {message.free_counter, message.free_handler});
  if (message.counts_as_send) count_sent(*peers_[message.peer], message.total);
  outgoing_.erase(message.id);
}

void EndpointCore::set_stage(OutgoingMessage& message, OutgoingMessage::Stage stage) {
  if (message.stage == OutgoingMessage::Stage::sending) --sending_;
  if (stage == OutgoingMessage::Stage::sending) ++sending_;
  message.stage = stage;
}

bool EndpointCore::requests_exhausted(const Peer& peer) const {
  if (inline_depth_ != 0) return false;
  return peer.backlog.size() >= config_.copy_buffers ||
         !may_take(peer.requests_waiting, requests_.size(), tuning::kMostRequests);
}

bool EndpointCore::copies_exhausted(const Peer& peer) const {
  return inline_depth_ == 0 && !may_take(peer.copies_waiting, copies_waiting_, config_.copy_buffers);
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
  const auto found = outgoing_.find(static_cast<std::uint32_t>(tag));
  if (found == outgoing_.end()) return;
  OutgoingMessage& message = found->second;
  --message.unacknowledged;
  if (message.stage == OutgoingMessage::Stage::awaiting_acks && message.unacknowledged == 0) finish_sending(message);
}

}  // namespace openlapi
