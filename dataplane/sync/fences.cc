#include "dataplane/sync/fences.h"

#include <algorithm>

namespace openlapi {

using wire::RecordKind;

FenceTicket Fences::begin() {
  PendingFence fence{.number = next_fence_++,
                     .remaining = 0,
                     .last_request = means_.requests.last_serial(),
                     .next_message = means_.sender.next_number(),
                     .last_own = means_.refused.newest_own_number(),
                     .outcome = FenceState::done};
  for (Peer* peer : means_.peers.contacted()) {
    if (peer->messages_confirmed == peer->messages_sent) continue;
    ++fence.remaining;
    peer->fences_awaited.push_back({fence.number, peer->messages_sent});
    peer->held_fences.push_back(
        {peer->messages_sent, static_cast<std::uint32_t>(fence.number), means_.sender.next_number()});
    ask_held(*peer);
  }
  if (means_.channels != nullptr) means_.channels->flush();
  fences_.push_back(fence);
  return {fence.number, fence.last_request};
}

FenceState Fences::state(const FenceTicket& ticket, PeerIndex* awaited) {
  const auto found = std::find_if(fences_.begin(), fences_.end(),
                                  [&](const PendingFence& fence) { return fence.number == ticket.number; });
  if (found == fences_.end()) return FenceState::done;
  if (found->remaining != 0 || means_.requests.oldest_serial() <= ticket.last_request ||
      means_.refused.any_own_up_to(found->last_own)) {
    if (awaited != nullptr) find_awaited(ticket, *awaited);
    return FenceState::pending;
  }
  // The target has it all, but something else may be missing there among the last packets, which are acknowledged in
  // their order: so long they would be sent again.
  if (means_.outgoing.any_of_user_before(found->next_message)) return FenceState::pending;
  const FenceState state = found->outcome;
  fences_.erase(found);
  return state;
}

void Fences::find_awaited(const FenceTicket& ticket, PeerIndex& awaited) const {
  for (const Peer* peer : means_.peers.contacted()) {
    if (std::ranges::find(peer->fences_awaited, ticket.number, &AwaitedFence::number) != peer->fences_awaited.end()) {
      awaited = peer->index;
    }
  }
}

// What its peers still answer finds no fence, and is no more than a sign that messages are in place.
void Fences::forget(const FenceTicket& ticket) {
  std::erase_if(fences_, [&](const PendingFence& fence) { return fence.number == ticket.number; });
}

void Fences::ask_held(Peer& peer) {
  const OutgoingMessage* const first = peer.outgoing.unbegun.first();
  const std::uint64_t first_waiting = first != nullptr ? first->number : means_.sender.next_number();
  std::erase_if(peer.held_fences, [&](const HeldFence& fence) {
    if (first_waiting < fence.next_message) return false;
    means_.outbox.post_record(peer, RecordKind::fence_request,
                              wire::FenceBody{static_cast<std::uint32_t>(fence.count), fence.ticket});
    return true;
  });
}

void Fences::on_reply(Peer& from, const wire::Record& record) {
  const auto body = wire::body_of<wire::FenceBody>(record);
  const auto awaited = std::find_if(
      from.fences_awaited.begin(), from.fences_awaited.end(),
      [&](const AwaitedFence& candidate) { return static_cast<std::uint32_t>(candidate.number) == body.ticket; });
  if (awaited == from.fences_awaited.end()) return means_.statistics.ghost();
  const AwaitedFence answered = *awaited;
  from.fences_awaited.erase(awaited);
  from.messages_confirmed = std::max(from.messages_confirmed, answered.count);
  for (PendingFence& fence : fences_) {
    if (fence.number == answered.number) --fence.remaining;
  }
}

void Fences::give_up(Peer& peer, CounterLoss why) {
  const FenceState outcome = why == CounterLoss::peer_purged ? FenceState::peer_purged : FenceState::peer_lost;
  if (peer.requests_waiting != 0) {
    means_.requests.remove_all_to(peer.index, [&](const PendingRequest& request, std::uint64_t serial) {
      means_.counters.lose(request.origin_counter, why);
      for (PendingFence& fence : fences_) {
        if (serial <= fence.last_request) fence.outcome = outcome;
      }
    });
  }
  for (PendingFence& fence : fences_) {
    const auto awaited = std::count_if(peer.fences_awaited.begin(), peer.fences_awaited.end(),
                                       [&](const AwaitedFence& candidate) { return candidate.number == fence.number; });
    fence.remaining -= static_cast<std::uint32_t>(awaited);
    if (awaited != 0) fence.outcome = outcome;
  }
  peer.fences_awaited.clear();
  peer.fence_requests.clear();
  peer.held_fences.clear();
}

}  // namespace openlapi
