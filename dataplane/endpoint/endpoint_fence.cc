// Fences and collectives. A fence asks every peer that was sent something since its last answer to reply when that many
// messages are in place; gets and read-modify-writes are complete when their answers are here.
#include <algorithm>
#include <cstring>

#include "dataplane/endpoint/endpoint_core.h"

namespace openlapi {

using wire::RecordKind;

namespace {

bool not_before(std::uint32_t number, std::uint32_t other) { return static_cast<std::int32_t>(number - other) >= 0; }

}  // namespace

FenceTicket EndpointCore::begin_fence() {
  PendingFence fence{next_fence_++, 0, requests_.last_serial(), FenceState::done};
  for (Peer* peer : contacted_) {
    if (peer->messages_confirmed == peer->messages_sent) continue;
    ++fence.remaining;
    peer->fences_awaited.push_back(fence.number);
    peer->held_fences.push_back({peer->messages_sent, fence.number, next_message_id_});
    ask_held_fences(*peer);
  }
  flush();
  fences_.push_back(fence);
  return {fence.number, fence.last_request};
}

FenceState EndpointCore::fence_state(const FenceTicket& ticket) {
  const auto found = std::find_if(fences_.begin(), fences_.end(),
                                  [&](const PendingFence& fence) { return fence.number == ticket.number; });
  if (found == fences_.end()) return FenceState::done;
  const bool waits_for_self =
      std::any_of(waiting_.begin(), waiting_.end(), [&](const WaitingMessage& w) { return w.source == config_.self; });
  if (found->remaining != 0 || requests_.oldest_serial() <= ticket.last_request || waits_for_self) {
    return FenceState::pending;
  }
  const FenceState state = found->outcome;
  fences_.erase(found);
  return state;
}

void EndpointCore::on_fence_request(Peer& from, const wire::Record& record) {
  wire::FenceBody body;
  std::memcpy(&body, record.body, sizeof(body));
  const std::uint32_t unfinished = from.messages_begun - from.messages_finished;
  if (unfinished == 0) return post_record(from, RecordKind::fence_reply, body);
  from.fence_requests.push_back({body.count, body.ticket, from.messages_begun, unfinished});
}

void EndpointCore::answer_fences(Peer& from, std::uint32_t number) {
  std::erase_if(from.fence_requests, [&](FenceRequest& request) {
    if (!not_before(request.newest, number) || --request.unfinished != 0) return false;
    post_record(from, RecordKind::fence_reply, wire::FenceBody{request.count, request.ticket});
    return true;
  });
}

// Asks for the fences before which every message has begun to leave, so that it begins to arrive before them.
void EndpointCore::ask_held_fences(Peer& peer) {
  std::uint32_t first_waiting = next_message_id_;
  for (const auto& [id, message] : outgoing_) {
    const bool moves_data = message.kind == RecordKind::put || message.kind == RecordKind::active_message;
    if (message.peer != peer.index || message.first_sent || !moves_data) continue;
    first_waiting = id;
    break;
  }
  std::erase_if(peer.held_fences, [&](const HeldFence& fence) {
    if (!not_before(first_waiting, fence.next_message_id)) return false;
    post_record(peer, RecordKind::fence_request, wire::FenceBody{fence.count, fence.ticket});
    return true;
  });
}

void EndpointCore::on_fence_reply(Peer& from, const wire::Record& record) {
  wire::FenceBody body;
  std::memcpy(&body, record.body, sizeof(body));
  const auto awaited = std::find(from.fences_awaited.begin(), from.fences_awaited.end(), body.ticket);
  if (awaited == from.fences_awaited.end()) return ghost();
  from.fences_awaited.erase(awaited);
  if (not_before(body.count, from.messages_confirmed)) from.messages_confirmed = body.count;
  for (PendingFence& fence : fences_) {
    if (fence.number == body.ticket) --fence.remaining;
  }
}

void EndpointCore::begin_barrier() {
  collective_purged_ = purged_peers_ != 0;
  collective_purged_ ? collective_.begin_failed(*this) : collective_.begin_barrier(*this);
  report_failed_collective(kUnknownPeer);
  flush();
}

void EndpointCore::begin_exchange(std::uint64_t value) {
  collective_purged_ = purged_peers_ != 0;
  collective_purged_ ? collective_.begin_failed(*this) : collective_.begin_exchange(value, *this);
  report_failed_collective(kUnknownPeer);
  flush();
}

CollectiveState EndpointCore::collective_state() const {
  if (collective_.active()) return CollectiveState::pending;
  if (!collective_.failed()) return CollectiveState::done;
  return collective_purged_ ? CollectiveState::peer_purged : CollectiveState::peer_lost;
}

void EndpointCore::fail_collective(PeerIndex lost) {
  if (!collective_.active()) return;
  collective_.fail(lost, *this);
  report_failed_collective(lost);
}

// Tells the host whom a collective has missed. `known` was reported already.
void EndpointCore::report_failed_collective(PeerIndex known) {
  const PeerIndex lost = collective_.lost_peer();
  if (collective_.active() || !collective_.failed() || lost == kUnknownPeer || lost == known) return;
  losses_.push_back({lost, Fault::no_connectivity});
}

void EndpointCore::collective_arrived(std::uint32_t sequence, std::uint32_t round, std::vector<std::byte> bytes) {
  const bool was_active = collective_.active();
  collective_.arrived(sequence, round, std::move(bytes), *this);
  if (was_active) report_failed_collective(kUnknownPeer);
}

// A round of a collective. The bytes belong to the collective, so what cannot leave at once is copied.
void EndpointCore::send_round(PeerIndex index, std::uint32_t sequence, std::uint32_t round,
                              std::span<const std::byte> bytes) {
  Peer* peer = contact(index);
  if (peer == nullptr) return collective_.fail(index, *this);
  const wire::CollectiveBody body{sequence, round};
  RecordBytes fixed(RecordKind::collective, body);
  if (fixed.length() + bytes.size() <= peer->max_record) {
    fixed.payload_length(bytes.size());
    const ConstBuffer pieces[] = {fixed.piece(), {bytes.data(), bytes.size()}};
    return post(*peer, pieces, static_cast<std::uint32_t>(fixed.length() + bytes.size()));
  }
  OutgoingMessage message;
  message.id = next_message_id_++;
  message.peer = index;
  message.kind = RecordKind::collective;
  std::memcpy(message.body.data(), &body, sizeof(body));
  message.data = bytes.data();
  message.total = bytes.size();
  OutgoingMessage& stored = store(std::move(message));
  keep_copy(stored, nullptr);
  if (peer->backlog.empty() && pump(*peer, stored)) finish_sending(stored);
}

}  // namespace openlapi
