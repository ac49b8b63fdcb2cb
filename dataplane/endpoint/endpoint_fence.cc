// Fences and collectives. A fence asks every peer that was sent something since its last answer to reply when that many
// messages are in place; gets and read-modify-writes are complete when their answers are here.
#include <algorithm>
#include <cstring>

#include "dataplane/endpoint/endpoint_core.h"

namespace openlapi {

using wire::RecordKind;

FenceTicket EndpointCore::begin_fence() {
  PendingFence fence{next_fence_++, 0, requests_.last_serial(), own_kept_, FenceState::done};
  for (Peer* peer : contacted_) {
    if (peer->messages_confirmed == peer->messages_sent) continue;
    ++fence.remaining;
    peer->fences_awaited.push_back({fence.number, peer->messages_sent});
    peer->held_fences.push_back({peer->messages_sent, static_cast<std::uint32_t>(fence.number), next_message_});
    ask_held_fences(*peer);
  }
  flush();
  fences_.push_back(fence);
  return {fence.number, fence.last_request};
}

FenceState EndpointCore::fence_state(const FenceTicket& ticket, PeerIndex* awaited) {
  const auto found = std::find_if(fences_.begin(), fences_.end(),
                                  [&](const PendingFence& fence) { return fence.number == ticket.number; });
  if (found == fences_.end()) return FenceState::done;
  const bool waits_for_self =
      own_waiting_ != 0 && std::any_of(waiting_.begin(), waiting_.end(), [&](const WaitingMessage& waiting) {
        return waiting.source == config_.self && waiting.number <= found->last_own;
      });
  if (found->remaining != 0 || requests_.oldest_serial() <= ticket.last_request || waits_for_self) {
    if (awaited == nullptr) return FenceState::pending;
    for (const Peer* peer : contacted_) {
      if (std::ranges::find(peer->fences_awaited, ticket.number, &AwaitedFence::number) != peer->fences_awaited.end()) {
        *awaited = peer->index;
      }
    }
    return FenceState::pending;
  }
  const FenceState state = found->outcome;
  fences_.erase(found);
  return state;
}

// What its peers still answer finds no fence, and is no more than a sign that messages are in place.
void EndpointCore::forget_fence(const FenceTicket& ticket) {
  std::erase_if(fences_, [&](const PendingFence& fence) { return fence.number == ticket.number; });
}

void EndpointCore::on_fence_request(Peer& from, const wire::Record& record) {
  wire::FenceBody body;
  std::memcpy(&body, record.body, sizeof(body));
  const std::uint64_t unfinished = from.messages_begun - from.messages_finished;
  if (unfinished == 0) return answer(from, RecordKind::fence_reply, body);
  if (!may_keep(from, 0)) return;
  from.fence_requests.push_back({body.count, body.ticket, from.messages_begun, unfinished, {from.kept, 0}});
}

void EndpointCore::answer_fences(Peer& from, std::uint64_t number) {
  std::erase_if(from.fence_requests, [&](FenceRequest& request) {
    if (request.newest < number || --request.unfinished != 0) return false;
    answer(from, RecordKind::fence_reply, wire::FenceBody{request.count, request.ticket});
    return true;
  });
}

// Asks for the fences before which every message has begun to leave, so that it begins to arrive before them.
void EndpointCore::ask_held_fences(Peer& peer) {
  const OutgoingMessage* const first = peer.outgoing.unbegun.first();
  const std::uint64_t first_waiting = first != nullptr ? first->number : next_message_;
  std::erase_if(peer.held_fences, [&](const HeldFence& fence) {
    if (first_waiting < fence.next_message) return false;
    post_record(peer, RecordKind::fence_request,
                wire::FenceBody{static_cast<std::uint32_t>(fence.count), fence.ticket});
    return true;
  });
}

void EndpointCore::on_fence_reply(Peer& from, const wire::Record& record) {
  wire::FenceBody body;
  std::memcpy(&body, record.body, sizeof(body));
  const auto awaited = std::find_if(
      from.fences_awaited.begin(), from.fences_awaited.end(),
      [&](const AwaitedFence& candidate) { return static_cast<std::uint32_t>(candidate.number) == body.ticket; });
  if (awaited == from.fences_awaited.end()) return ghost();
  const AwaitedFence answered = *awaited;
  from.fences_awaited.erase(awaited);
  from.messages_confirmed = std::max(from.messages_confirmed, answered.count);
  for (PendingFence& fence : fences_) {
    if (fence.number == answered.number) --fence.remaining;
  }
}

void EndpointCore::begin_barrier() {
  collective_purged_ = purged_peers_ != 0;
  collective_purged_ ? collective_.begin_failed(*this) : collective_.begin_barrier(*this);
  report_failed_collective();
  flush();
}

void EndpointCore::begin_exchange(std::uint64_t value) {
  collective_purged_ = purged_peers_ != 0;
  collective_purged_ ? collective_.begin_failed(*this) : collective_.begin_exchange(value, *this);
  report_failed_collective();
  flush();
}

void EndpointCore::confirm_exchange() {
  collective_.confirm_exchange(*this);  // to those who were heard in the exchange: none is out of reach
  flush();
}

CollectiveState EndpointCore::collective_state() const {
  if (collective_.active()) return collective_.filled() ? CollectiveState::filled : CollectiveState::pending;
  if (!collective_.failed()) return CollectiveState::done;
  return collective_purged_ ? CollectiveState::peer_purged : CollectiveState::peer_lost;
}

void EndpointCore::fail_collective(PeerIndex lost) {
  if (!collective_.active()) return;
  collective_.fail(lost, *this);
  report_failed_collective();
}

// Tells the host whom a collective has missed.
void EndpointCore::report_failed_collective() {
  const PeerIndex lost = collective_.lost_peer();
  if (collective_.active() || !collective_.failed() || lost == kUnknownPeer) return;
  losses_.push_back({lost, Fault::no_connectivity});
}

void EndpointCore::collective_arrived(Peer& from, std::uint32_t sequence, std::uint32_t round,
                                      std::vector<std::byte> bytes) {
  const bool was_active = collective_.active();
  if (!collective_.arrived(from.index, sequence, round, std::move(bytes), *this)) drop(from, Fault::too_much_kept);
  if (was_active) report_failed_collective();
}

// A round of a collective. The bytes belong to the collective, so what cannot leave at once is copied.
void EndpointCore::send_round(PeerIndex index, std::uint32_t sequence, std::uint32_t round,
                              std::span<const std::byte> bytes) {
  Peer* peer = contact(index);
  if (peer == nullptr) return collective_.fail(index, *this);
  const wire::CollectiveBody body{sequence, round};
  RecordBytes fixed(RecordKind::collective, body);
  const std::size_t length = fixed.length() + bytes.size();
  if (length <= peer->max_record) {
    fixed.payload_length(bytes.size());
    const ConstBuffer pieces[] = {fixed.piece(), {bytes.data(), bytes.size()}};
    return post(*peer, pieces, static_cast<std::uint32_t>(length));
  }
  OutgoingMessage message;
  give_number(message);
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
