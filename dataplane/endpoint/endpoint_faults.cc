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
  return !peer.owed.empty() || !peer.outgoing.empty() || peer.requests_waiting != 0 || expected_.contains(peer.index);
}

// Who owes an answer may have died after it had taken the question. Over a channel a silent one is asked for a sign of
// life: the channel's time-out or the answer of a new life does the rest.
// That includes the one whose message a collective needs next, who may never have been talked to.
void EndpointCore::watch_peers(Nanoseconds now) {
  for (const auto& [index, waiters] : expected_) contact(index);
  if (now - turn_asked_ >= tuning::kWatchPeers) {
    turn_asked_ = now;
    for (const DirectTransport& direct : direct_transports_) watch_turn(*direct.has.reliable_delivery, now);
  }
  // A task alone waits for itself, between the exchange and its confirmation.
  const bool others = collective_.active() && collective_.awaited() != config_.self;
  if (others && contact(collective_.awaited()) == nullptr) fail_collective(collective_.awaited());
  for (std::size_t i = 0; i < contacted_.size(); ++i) {  // grows when a loss is passed on to others
    Peer* peer = contacted_[i];
    if (peer->is_direct() && follow(*peer)) continue;
    if (peer->untold && peer->liveness->peer_gone(peer->index)) {  // it need not be told any more
      peer->untold = false;
      look_whether_pending(*peer);
    }
    if (!something_outstanding(*peer) && !collective_.active()) continue;
    if (peer->is_direct()) {
      watch_direct_peer(*peer, now);
    } else if (now - peer->channel->channel().last_heard() >= tuning::kProbeSilentPeer) {
      peer->channel->probe();
    }
  }
}

// Reliable transports have no acknowledgements to miss: a peer is lost when its process is gone, or when it has taken
// nothing for the whole time-out although something waited for it. Where nothing waits it gets an empty packet.
void EndpointCore::watch_direct_peer(Peer& peer, Nanoseconds now) {
  if (peer.gone) return watch_gone_peer(peer, now);
  if (peer.liveness->peer_gone(peer.index)) {
    peer.gone = true;
    peer.last_arrival = peer.delivery->arrivals().handed_over;
    peer.silent_since = now;
    return look_soon();
  }
  const ReliableDelivery::Intake intake = peer.delivery->intake(peer.index);
  if (!intake.waits) {
    peer.silent_since = 0;
    ask_direct_peer(peer, now);
  } else if (peer.silent_since == 0 || peer.taken_seen != intake.taken) {
    peer.silent_since = now;
  } else if (now - peer.silent_since >= config_.timeout) {
    // One that is held up by a third task gives that one up first.
    const bool in_vain = now - peer.silent_since - config_.timeout >= config_.timeout;
    if (in_vain || !peer.delivery->waits_for_another(peer.index)) return lose(peer, Fault::timeout);
  }
  peer.taken_seen = intake.taken;
}

// A task that ends in order has answered before. Its answers count: until all that was handed over before its end is
// here, though not for ever if that waits for another's turn; or as long as there is anything to receive, where the
// transport does not count.
void EndpointCore::watch_gone_peer(Peer& peer, Nanoseconds now) {
  const ReliableDelivery::Arrivals arrivals = peer.delivery->arrivals();
  const bool to_come = arrivals.received < peer.last_arrival && now - peer.silent_since < 2 * config_.timeout;
  const bool counts = arrivals.received != 0;
  if (to_come || (!counts && (arrivals_ || arrivals_held_))) return look_soon();
  const bool in_order =
      !something_outstanding(peer) && !collective_.waits_for(peer.index) && peer.delivery->peer_left(peer.index);
  if (!in_order) lose(peer, Fault::no_connectivity);
}

void EndpointCore::look_soon() {
  idle_loops_ = tuning::kIdleLoopsBetweenTimers;
  last_watch_ = 0;
}

// A task that stops while it hands over a packet holds up what all others hand over behind it. It is lost after the
// time-out, as one that owes an answer is.
void EndpointCore::watch_turn(ReliableDelivery& delivery, Nanoseconds now) {
  const ReliableDelivery::Turn turn = delivery.awaited_turn();
  if (turn.peer == kUnknownPeer || turn != turn_seen_) {
    turn_seen_ = turn;
    turn_since_ = now;
    return;
  }
  if (now - turn_since_ < config_.timeout) return;
  turn_since_ = now;
  if (Peer* const peer = contact(turn.peer)) lose(*peer, Fault::timeout);
}

void EndpointCore::ask_direct_peer(Peer& peer, Nanoseconds now) {
  if (now - peer.asked_at < tuning::kProbeSilentPeer) return;
  peer.asked_at = now;
  const OutgoingPacket empty{{}, 0};
  if (peer.direct->send_burst(peer.index, {&empty, 1}) != 0) ++statistics_of(peer).packets_sent;
}

void EndpointCore::channel_timed_out(PeerIndex index) { lose(*peers_[index], Fault::timeout); }

void EndpointCore::channel_has_other_key(PeerIndex index, bool for_long) {
  if (for_long) return lose(*peers_[index], Fault::other_secret);
  host_.warn_of_other_secret(index);
}

void EndpointCore::channel_has_other_version(PeerIndex index, std::uint8_t version) {
  host_.name_other_version(index, version);
  lose(*peers_[index], Fault::other_version);
}

// The peer is a new process: what was outstanding to the former one will never be answered.
void EndpointCore::channel_restarted(PeerIndex index, bool lost) {
  peers_[index]->channel->drop_open_packet();
  restarted(*peers_[index], lost);
}

// `lost`: something that nobody waits for, too.
void EndpointCore::restarted(Peer& peer, bool lost) {
  const bool noticed = lost || something_outstanding(peer) || collective_.active();
  if (noticed) losses_.push_back({peer.index, Fault::no_connectivity});
  give_up(peer, Fault::no_connectivity);
}

void EndpointCore::lose(Peer& peer, Fault fault) {
  if (peer.channel != nullptr && !peer.channel->may_begin_anew()) return drop(peer, Fault::lost_for_good);
  losses_.push_back({peer.index, fault});
  if (fault == Fault::timeout && peer.is_direct()) peer.eras->give_up_peer(peer.index);
  give_up(peer, fault);
  if (peer.channel != nullptr) peer.channel->begin_anew();
}

// How two tasks begin anew with each other over a reliable transport; a channel's epochs do the same. Each side cuts
// what it sends where it gives the other up: with a new era of its own with the peer, from which on nothing counts that
// the peer has sent or sends before it knows, and with a record that tells the peer this era, before all that is of it.
// So a task that was only stopped, and goes on, learns that it was given up, and nothing of before is believed: neither
// a message that has lost its rest, nor an answer that nobody waits for. False: there is no room for the record yet,
// and none for anything behind it; it is made anew each time, since there may be no memory in which it could wait.
bool EndpointCore::tell_beginning(Peer& peer) {
  const RecordBytes fixed(wire::RecordKind::request_refused,
                          wire::RequestRefusedBody{peer.eras->era_with(peer.index), wire::RefusalReason::begins_anew});
  const ConstBuffer piece = fixed.piece();
  const OutgoingPacket packet{{&piece, 1}, fixed.length()};
  peer.untold = peer.direct->send_burst(peer.index, {&packet, 1}) == 0;
  if (!peer.untold) ++statistics_of(peer).packets_sent;
  look_whether_pending(peer);
  return !peer.untold;
}

// The peer has begun a new era with this task. What comes from it is of the one before until it tells the new one.
// Users purge each other in order when all is in place, fence or not; one that was given up learns what that may have
// lost.
bool EndpointCore::follow(Peer& peer) {
  if (!peer.eras->peer_began_anew(peer.index)) return false;
  peer.deaf = true;
  restarted(peer, peer.eras->gave_up(peer.index) && peer.messages_sent != peer.messages_confirmed);
  return true;
}

// Eras that have ended since are told as well: the present one is still to come then.
void EndpointCore::on_beginning(Peer& from, std::uint32_t era) {
  if (from.eras->era_sent_for(from.index) != era) follow(from);
  from.deaf = from.eras->era_sent_for(from.index) != era;
}

// Back to the state of first contact. Later messages to the peer start afresh. Send completion handlers hear of it: the
// origin buffers are free.
void EndpointCore::give_up(Peer& peer, Fault fault) {
  const CounterLoss why = fault == Fault::purged ? CounterLoss::peer_purged : CounterLoss::peer_lost;
  give_up_counters(peer, why);
  give_up_fences(peer, why);
  copies_waiting_ -= std::exchange(peer.copies_waiting, 0);
  peer.requests_waiting = 0;
  list_bytes_ -= std::exchange(peer.list_bytes, 0);
  peer.backlog.clear();
  peer.untold = false;
  peer.silent_since = 0;
  peer.incoming.clear();
  give_up_pulls(peer);
  give_up_messages(peer, fault, why);
  std::erase_if(waiting_, [&](const WaitingMessage& waiting) { return waiting.source == peer.index; });
  std::erase_if(reads_, [&](const DirectRead& read) { return read.peer == peer.index; });
  peer.messages_sent = peer.messages_confirmed = peer.messages_begun = peer.messages_finished = 0;
  ++peer.life;
  if (peer.is_direct() && !peer.closed && !peer.gone) tell_beginning(peer);
  if (collective_.active()) collective_.fail(fault == Fault::purged ? kUnknownPeer : peer.index, *this);
}

void EndpointCore::give_up_messages(Peer& peer, Fault fault, CounterLoss why) {
  for (auto* list : {&peer.outgoing.departed, &peer.outgoing.sending}) {
    while (!list->empty()) {
      OutgoingMessage& message = *list->first();
      lost_counters_.add(message.free_counter, why);
      if (message.free_handler.function != nullptr) {
        send_completions_.push_back({message.free_handler, peer.index, true, fault});
      }
      outgoing_.remove(peer.outgoing, message);
    }
  }
  look_whether_pending(peer);
}

// At the end of this step: until then others of it still look at what is under way with the peer.
void EndpointCore::drop(Peer& peer, Fault why) {
  if (std::exchange(peer.closed, true)) return;
  dropped_.push_back({peer.index, why});
}

// Until the user purges and resumes it nothing is taken from the peer, and no operation to it is accepted.
void EndpointCore::part_from_dropped() {
  for (const Loss& loss : std::exchange(dropped_, {})) {
    if (peers_[loss.peer] == nullptr || !peers_[loss.peer]->closed) continue;  // purged meanwhile
    former_.try_emplace(loss.peer, FormerPeer{false, false, config_.before_first(), 0}).first->second.dropped = true;
    losses_.push_back(loss);
    part_from(loss.peer, loss.fault);
  }
}

// Counters here that operations with the peer would still have moved.
void EndpointCore::give_up_counters(Peer& peer, CounterLoss why) {
  peer.owed.give_up_all([&](std::uint64_t counter) { lost_counters_.add(counter, why); });
  for (const auto& [id, message] : peer.incoming) lost_counters_.add(message.run.target_counter, why);
  peer.given_up_unfinished += peer.incoming.size();
  if (peer.given_up_unfinished > tuning::kMostThingsOfPeer) drop(peer, Fault::too_much_kept);
}

void EndpointCore::give_up_fences(Peer& peer, CounterLoss why) {
  const FenceState outcome = why == CounterLoss::peer_purged ? FenceState::peer_purged : FenceState::peer_lost;
  if (peer.requests_waiting != 0)
    requests_.remove_all_to(peer.index, [&](const PendingRequest& request, std::uint64_t serial) {
      lost_counters_.add(request.origin_counter, why);
      for (PendingFence& fence : fences_) {
        if (serial <= fence.last_request) fence.outcome = outcome;
      }
    });
  for (PendingFence& fence : fences_) {
    const auto awaited =
        std::count_if(peer.fences_awaited.begin(), peer.fences_awaited.end(),
                      [&](const AwaitedFence& candidate) { return candidate.number == fence.number; });
    fence.remaining -= static_cast<std::uint32_t>(awaited);
    if (awaited != 0) fence.outcome = outcome;
  }
  peer.fences_awaited.clear();
  peer.fence_requests.clear();
  peer.held_fences.clear();
}

void EndpointCore::give_up_unbegun(const UnbegunOperation& operation, Submit why) {
  if (why == Submit::origin_memory || why == Submit::target_memory) {
    origin_is_free(operation.target, {operation.origin_counter, operation.send_handler});
    move_counter(operation.completion_counter, operation.target);
    return host_.report_fault(why == Submit::origin_memory ? Fault::origin_vector : Fault::target_vector,
                              operation.target);
  }
  const Fault fault = why == Submit::purged ? Fault::purged : Fault::no_connectivity;
  const CounterLoss loss = why == Submit::purged ? CounterLoss::peer_purged : CounterLoss::peer_lost;
  lost_counters_.add(operation.origin_counter, loss);
  lost_counters_.add(operation.completion_counter, loss);
  if (operation.send_handler.function != nullptr) {
    send_completions_.push_back({operation.send_handler, operation.target, true, fault});
  }
  if (why != Submit::purged) host_.report_fault(fault, operation.target);  // of a purge the user knows
}

void EndpointCore::report_losses() {
  while (!losses_.empty()) {
    const Loss loss = losses_.front();
    losses_.erase(losses_.begin());
    host_.report_fault(loss.fault, loss.peer);
  }
}

}  // namespace openlapi
