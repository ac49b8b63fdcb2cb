#include "dataplane/peers/peer_watch.h"

#include <algorithm>

namespace openlapi {

void PeerWatch::expect(PeerIndex index) {
  if (!means_.peers.is_self(index)) ++expected_[index];
}

void PeerWatch::expect_no_more(PeerIndex index) {
  const auto found = expected_.find(index);
  if (found != expected_.end() && --found->second == 0) expected_.erase(found);
}

bool PeerWatch::something_outstanding(const Peer& peer) const {
  if (!peer.backlog.empty() || !peer.incoming.empty() || !peer.fences_awaited.empty()) return true;
  return !peer.owed.empty() || !peer.outgoing.empty() || peer.requests_waiting != 0 || expected_.contains(peer.index);
}

void PeerWatch::go_on_searching(Nanoseconds now) {
  if (now - searched_ < tuning::kLookForPeer) return;
  searched_ = now;
  means_.peers.look_for_undecided();
  if (means_.collective.held_rounds() != 0) means_.collective.send_held();
}

// Who owes an answer may have died after it had taken the question. That includes the one whose message a collective
// needs next, who may never have been talked to.
void PeerWatch::look_at_all(Nanoseconds now, bool may_come) {
  absence_.look(now, [&] {
    const auto overdue = [&](const Peer* peer) { return is_overdue(*peer, now); };
    return turn_is_overdue(now) || std::ranges::any_of(means_.peers.contacted(), overdue);
  });
  for (const auto& [index, waiters] : expected_) means_.peers.contact(index);
  if (now - turn_asked_ >= tuning::kWatchPeers) {
    turn_asked_ = now;
    for (const DirectTransport& direct : means_.transports.direct) look_at_turn(*direct.has.reliable_delivery, now);
  }
  // A task alone waits for itself, between the exchange and its confirmation.
  CollectiveView& collective = means_.collective;
  const bool others = collective.active() && !means_.peers.is_self(collective.awaited());
  if (others && means_.peers.contact(collective.awaited()) == nullptr &&
      !means_.peers.is_undecided(collective.awaited())) {
    collective.fail(collective.awaited());
  }
  for (std::size_t i = 0; i < means_.peers.contacted().size(); ++i) {  // grows when a loss is passed on to others
    look_at(*means_.peers.contacted()[i], now, may_come);
  }
}

bool PeerWatch::is_overdue(const Peer& peer, Nanoseconds now) const {
  return peer.is_direct() && !peer.gone && peer.silent_since != 0 && now - peer.silent_since >= means_.config.timeout;
}

bool PeerWatch::turn_is_overdue(Nanoseconds now) const {
  return turn_seen_.peer != kUnknownPeer && now - turn_since_ >= means_.config.timeout;
}

// Over a channel a silent one is asked for a sign of life: the channel's time-out or the answer of a new incarnation
// does the rest.
void PeerWatch::look_at(Peer& peer, Nanoseconds now, bool may_come) {
  if (peer.is_direct() && follow(peer)) return;
  if (peer.untold && peer.liveness->peer_gone(peer.index)) means_.teller.need_not_tell(peer);
  if (!something_outstanding(peer) && !means_.collective.active() && !has_died_in_use(peer)) return;
  if (peer.is_direct()) {
    look_at_direct(peer, now, may_come);
  } else if (now - peer.channel->reliable().last_heard() >= tuning::kProbeSilentPeer) {
    peer.channel->probe();
  }
}

// Operations on its memory are done at once, whether it lives or not, so they leave nothing outstanding. Once it is
// known to be gone they take messages, which fail.
bool PeerWatch::has_died_in_use(Peer& peer) const {
  return peer.direct_memory != nullptr && !peer.gone && peer.direct_memory->is_in_use(peer.index) &&
         peer.liveness->peer_gone(peer.index);
}

// Reliable transports have no acknowledgements to miss: a peer is lost when its process is gone, or when it has taken
// nothing for the whole time-out although something waited for it. Where nothing waits it gets an empty packet.
void PeerWatch::look_at_direct(Peer& peer, Nanoseconds now, bool may_come) {
  if (peer.gone) return look_at_gone(peer, now, may_come);
  if (peer.liveness->peer_gone(peer.index)) {
    peer.gone = true;
    peer.last_arrival = peer.delivery->arrivals().handed_over;
    peer.silent_since = now;
    return look_soon();
  }
  const ReliableDelivery::Intake intake = peer.delivery->intake(peer.index);
  if (!intake.waits) {
    peer.silent_since = 0;
    ask(peer, now);
  } else if (peer.silent_since == 0 || peer.taken_seen != intake.taken) {
    peer.silent_since = now;
  } else if (is_overdue(peer, now) && !absence_.is_excused(now)) {
    // One that is held up by a third task gives that one up first.
    const bool in_vain = now - peer.silent_since - means_.config.timeout >= means_.config.timeout;
    if (in_vain || !peer.delivery->waits_for_another(peer.index)) return means_.losses.lose(peer, Fault::timeout);
  }
  peer.taken_seen = intake.taken;
}

// A task that ends in order has answered before. Its answers count: until all that was handed over before its end is
// here, though not for ever if that waits for another's turn; or as long as there is anything to receive, where the
// transport does not count.
void PeerWatch::look_at_gone(Peer& peer, Nanoseconds now, bool may_come) {
  const ReliableDelivery::Arrivals arrivals = peer.delivery->arrivals();
  const bool to_come = arrivals.received < peer.last_arrival && now - peer.silent_since < 2 * means_.config.timeout;
  const bool counts = arrivals.received != 0;
  if (to_come || (!counts && may_come)) return look_soon();
  const bool in_order =
      !something_outstanding(peer) && !means_.collective.waits_for(peer.index) && peer.delivery->peer_left(peer.index);
  if (!in_order) means_.losses.lose(peer, Fault::no_connectivity);
}

void PeerWatch::look_soon() {
  means_.pacing.look_soon();
  last_look_ = 0;
}

// A task that stops while it hands over a packet holds up what all others hand over behind it. It is lost after the
// time-out, as one that owes an answer is.
void PeerWatch::look_at_turn(ReliableDelivery& delivery, Nanoseconds now) {
  const ReliableDelivery::Turn turn = delivery.awaited_turn();
  if (turn.peer == kUnknownPeer || turn != turn_seen_) {
    turn_seen_ = turn;
    means_.pacing.hurry(turn.is_awaited);  // also who seldom comes here gives it up
    turn_since_ = now;
    return;
  }
  if (!turn_is_overdue(now) || absence_.is_excused(now)) return;
  turn_since_ = now;
  if (Peer* const peer = means_.peers.contact(turn.peer)) means_.losses.lose(*peer, Fault::timeout);
}

void PeerWatch::ask(Peer& peer, Nanoseconds now) {
  if (now - peer.asked_at < tuning::kProbeSilentPeer) return;
  peer.asked_at = now;
  const OutgoingPacket empty{{}, 0};
  if (peer.direct->send_burst(peer.index, {&empty, 1}) != 0) ++means_.statistics.of(peer).packets_sent;
}

// `missed`: as for Losses::give_up().
void PeerWatch::begun_anew(Peer& peer, bool lost, PeerIndex missed) {
  const bool noticed = lost || something_outstanding(peer) || means_.collective.active();
  if (noticed) means_.reports.add(peer.index, Fault::no_connectivity);
  means_.losses.give_up(peer, Fault::no_connectivity, missed);
}

// The peer has begun a new era with this task. What comes from it is of the one before until it tells the new one.
// Users purge each other in order when all is in place, fence or not; one that was given up learns what that may have
// lost. The peer lives: others are not to take it for lost.
bool PeerWatch::follow(Peer& peer) {
  if (!peer.eras->peer_began_anew(peer.index)) return false;
  peer.deaf = true;
  const bool gave_up = peer.eras->gave_up(peer.index);
  const bool lost = gave_up && peer.messages_sent != peer.messages_confirmed;
  begun_anew(peer, lost, gave_up ? means_.config.self : kUnknownPeer);
  return true;
}

// Eras that have ended since are told as well: the present one is still to come then.
void PeerWatch::on_beginning(Peer& from, std::uint32_t era) {
  if (from.eras->era_sent_for(from.index) != era) follow(from);
  from.deaf = from.eras->era_sent_for(from.index) != era;
}

}  // namespace openlapi
