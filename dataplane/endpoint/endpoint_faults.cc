// Peers that are gone, came back, or stay silent. Whatever was outstanding to such a peer is given up, so that nothing
// waits for ever; the host hears of it at the end of the step.
#include <algorithm>
#include <utility>

#include "dataplane/endpoint/endpoint_core.h"
#include "dataplane/tuning.h"

namespace openlapi {

unsigned EndpointCore::run_timers(Nanoseconds now) {
  idle_loops_ = 0;
  unsigned moved = channels_ != nullptr ? channels_->run_timers(now) : 0;
  if (now - last_watch_ >= tuning::kWatchPeers) {
    last_watch_ = now;
    watch_peers(now);
  }
  return moved;
}

bool EndpointCore::something_outstanding(const Peer& peer) const {
  if (!peer.backlog.empty() || !peer.incoming.empty() || !peer.fences_awaited.empty()) return true;
  if (!peer.owed.empty() || requests_.any_to(peer.index) || expected_.contains(peer.index)) return true;
  return std::any_of(outgoing_.begin(), outgoing_.end(),
                     [&](const auto& entry) { return entry.second.peer == peer.index; });
}

// Who owes an answer may have died after it had taken the question. Over a channel a silent one is asked for a sign of
// life: the channel's time-out or the answer of a new life does the rest.
// That includes the one whose message a collective needs next, who may never have been talked to.
void EndpointCore::watch_peers(Nanoseconds now) {
  for (const auto& [index, waiters] : expected_) contact(index);
  if (collective_.active() && contact(collective_.awaited()) == nullptr) fail_collective(collective_.awaited());
  for (std::size_t i = 0; i < contacted_.size(); ++i) {  // grows when a loss is passed on to others
    Peer* peer = contacted_[i];
    if (!something_outstanding(*peer) && !collective_.active()) continue;
    if (peer->is_direct()) {
      watch_direct_peer(*peer, now);
    } else if (now - peer->channel->channel().last_heard() >= tuning::kProbeSilentPeer) {
      peer->channel->probe();
    }
  }
}

// Reliable transports have no acknowledgements to miss: a peer is lost when its process is gone, or when it has taken
// nothing for the whole time-out.
void EndpointCore::watch_direct_peer(Peer& peer, Nanoseconds now) {
  // A task that ends in order has answered before; its answers count as long as there is anything to receive.
  if (peer.gone && !arrivals_ && !arrivals_held_) {
    const bool in_order =
        !something_outstanding(peer) && !collective_.waits_for(peer.index) && peer.direct->peer_left(peer.index);
    if (!in_order) lose(peer, Fault::no_connectivity);
    return;
  }
  peer.gone = peer.gone || peer.direct->peer_gone(peer.index);
  if (peer.gone) {
    idle_loops_ = tuning::kIdleLoopsBetweenTimers;
    last_watch_ = 0;
  } else if (peer.backlog.empty()) {
    peer.stuck_since = 0;
  } else if (peer.stuck_since == 0) {
    peer.stuck_since = now;
  } else if (now - peer.stuck_since >= config_.timeout) {
    lose(peer, Fault::timeout);
  }
}

void EndpointCore::channel_timed_out(PeerIndex index) { lose(*peers_[index], Fault::timeout); }

// The peer is a new process: what was outstanding to the former one will never be answered.
void EndpointCore::channel_restarted(PeerIndex index) {
  Peer& peer = *peers_[index];
  if (something_outstanding(peer) || collective_.active()) losses_.push_back({index, Fault::no_connectivity});
  peer.channel->drop_open_packet();
  give_up(peer, Fault::no_connectivity);
}

void EndpointCore::lose(Peer& peer, Fault fault) {
  losses_.push_back({peer.index, fault});
  give_up(peer, fault);
  if (peer.channel != nullptr) peer.channel->reset();
}

// Back to the state of first contact. Later messages to the peer start afresh. Send completion handlers hear of it: the
// origin buffers are free.
void EndpointCore::give_up(Peer& peer, Fault fault) {
  const CounterLoss why = fault == Fault::purged ? CounterLoss::peer_purged : CounterLoss::peer_lost;
  give_up_counters(peer, why);
  give_up_fences(peer, why);
  copies_waiting_ -= std::exchange(peer.copies_waiting, 0);
  peer.requests_waiting = 0;
  if (!peer.backlog.empty()) --backlogged_peers_;
  peer.backlog.clear();
  peer.stuck_since = 0;
  peer.incoming.clear();
  give_up_pulls(peer);
  std::erase_if(outgoing_, [&](const auto& entry) {
    const OutgoingMessage& message = entry.second;
    if (message.peer != peer.index) return false;
    if (message.stage == OutgoingMessage::Stage::sending) --sending_;
    if (message.free_handler.function != nullptr) {
      send_completions_.push_back({message.free_handler, peer.index, true, fault});
    }
    return true;
  });
  std::erase_if(waiting_, [&](const WaitingMessage& waiting) { return waiting.source == peer.index; });
  std::erase_if(reads_, [&](const DirectRead& read) { return read.peer == peer.index; });
  peer.messages_sent = peer.messages_confirmed = peer.messages_begun = peer.messages_finished = 0;
  ++peer.life;
  if (collective_.active()) collective_.fail(fault == Fault::purged ? kUnknownPeer : peer.index, *this);
}

// Counters here that operations with the peer would still have moved.
void EndpointCore::give_up_counters(Peer& peer, CounterLoss why) {
  peer.owed.give_up_all([&](std::uint64_t counter) { lost_counters_.add(counter, why); });
  for (const auto& [id, message] : outgoing_) {
    if (message.peer == peer.index) lost_counters_.add(message.free_counter, why);
  }
  for (const auto& [id, message] : peer.incoming) lost_counters_.add(message.run.target_counter, why);
}

void EndpointCore::give_up_fences(Peer& peer, CounterLoss why) {
  const FenceState outcome = why == CounterLoss::peer_purged ? FenceState::peer_purged : FenceState::peer_lost;
  requests_.remove_all_to(peer.index, [&](const PendingRequest& request, std::uint64_t serial) {
    lost_counters_.add(request.origin_counter, why);
    for (PendingFence& fence : fences_) {
      if (serial <= fence.last_request) fence.outcome = outcome;
    }
  });
  for (PendingFence& fence : fences_) {
    const auto awaited = std::count(peer.fences_awaited.begin(), peer.fences_awaited.end(), fence.number);
    fence.remaining -= static_cast<std::uint32_t>(awaited);
    if (awaited != 0) fence.outcome = outcome;
  }
  peer.fences_awaited.clear();
  peer.fence_requests.clear();
  peer.held_fences.clear();
}

void EndpointCore::report_losses() {
  while (!losses_.empty()) {
    const Loss loss = losses_.front();
    losses_.erase(losses_.begin());
    host_.report_fault(loss.fault, loss.peer);
  }
}

}  // namespace openlapi
