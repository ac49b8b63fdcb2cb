#include "dataplane/peers/losses.h"

#include <utility>

#include "dataplane/tuning.h"

namespace openlapi {

void Losses::lose(Peer& peer, Fault fault) {
  if (peer.channel != nullptr && !peer.channel->may_begin_anew()) {
    return means_.dropped.drop(peer, Fault::lost_for_good);
  }
  means_.reports.add(peer.index, fault);
  if (fault == Fault::timeout && peer.is_direct()) peer.eras->give_up_peer(peer.index);
  give_up(peer, fault, peer.index);
  if (peer.channel != nullptr) peer.channel->begin_anew();
}

void Losses::give_up(Peer& peer, Fault fault, PeerIndex missed) {
  const CounterLoss why = fault == Fault::purged ? CounterLoss::peer_purged : CounterLoss::peer_lost;
  give_up_counters(peer, why);
  peer.silent_since = 0;
  means_.under_way.give_up(peer, fault, why);
  peer.messages_sent = peer.messages_confirmed = peer.messages_begun = peer.messages_finished = 0;
  ++peer.incarnation;
  if (peer.is_direct() && !peer.closed && !peer.gone) means_.teller.tell_beginning(peer);
  if (means_.collective.active()) means_.collective.peer_given_up(missed);
}

// Counters here that operations with the peer would still have moved.
void Losses::give_up_counters(Peer& peer, CounterLoss why) {
  peer.owed.give_up_all([&](std::uint64_t counter) { means_.counters.lose(counter, why); });
  for (const auto& [id, message] : peer.incoming) {
    if (const IncomingOperation* const operation = message.operation()) {
      means_.counters.lose(operation->run.target_counter, why);
    }
  }
  peer.given_up_unfinished += peer.incoming.size();
  if (peer.given_up_unfinished > tuning::kMostThingsOfPeer) means_.dropped.drop(peer, Fault::too_much_kept);
}

// Until the user purges and resumes it nothing is taken from the peer, and no operation to it is accepted.
void Losses::part_from_dropped() {
  for (const Loss& loss : means_.dropped.take()) {
    const Peer* const peer = means_.peers.find(loss.peer);
    if (peer == nullptr || !peer->closed) continue;  // purged meanwhile
    means_.peers.set_dropped(loss.peer);
    means_.reports.add(loss.peer, loss.fault);
    part_from(loss.peer, loss.fault);
  }
}

// What was sent under the peer's state before finds nothing. A handler may purge the peer whose message it belongs to:
// what the present step still refers to lasts until its end.
void Losses::part_from(PeerIndex index, Fault why) {
  if (std::unique_ptr<Peer> peer = means_.peers.take(index); peer != nullptr) {
    peer->closed = true;
    give_up(*peer, why, why == Fault::purged ? kUnknownPeer : index);
    means_.peers.keep_incarnation(*peer);
    if (peer->channel != nullptr) peer->channel->close();
    if (stepping_) {
      buried_.push_back(std::move(peer));
      means_.signs.set(StepSigns::buried, true);
    }
  }
  for (const DirectTransport& direct : means_.transports.direct) direct.has.peer_eras->purge_peer(index);
  for (OneSidedMemory* memory : means_.transports.one_sided_memories) memory->part_from(index);
}

void Losses::bury() {
  buried_.clear();
  means_.signs.set(StepSigns::buried, false);
}

bool Losses::purge(PeerIndex index) {
  PeerTable& peers = means_.peers;
  if (index >= peers.tasks() || peers.is_self(index) || peers.purged(index)) return false;
  peers.set_purged(index);
  means_.collective.peer_purged();
  part_from(index, Fault::purged);
  if (means_.collective.active()) means_.collective.peer_given_up(kUnknownPeer);
  return true;
}

// A peer that has resumed before sends at once.
void Losses::resume(PeerIndex index, std::uint64_t epoch) {
  if (!means_.peers.resume(index, epoch)) return;
  for (const DirectTransport& direct : means_.transports.direct) direct.has.peer_eras->resume_peer(index);
  for (OneSidedMemory* memory : means_.transports.one_sided_memories) memory->resume(index);
}

}  // namespace openlapi
