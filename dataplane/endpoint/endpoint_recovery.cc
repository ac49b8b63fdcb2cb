// Peers that the user purges and resumes (guide, chapter 19), and what is known of the counters of operations that were
// given up.
#include <algorithm>

#include "dataplane/endpoint/endpoint_core.h"

namespace openlapi {

bool EndpointCore::purged(PeerIndex index) const {
  if (former_.empty()) return false;
  const auto found = former_.find(index);
  return found != former_.end() && found->second.purged;
}

std::uint32_t EndpointCore::life_of(PeerIndex index) const {
  if (peers_[index] != nullptr) return peers_[index]->life;
  const auto found = former_.find(index);
  return found == former_.end() ? config_.before_first() : found->second.life;
}

// Nothing of the peer is kept but the number of its lives here: what was sent under its state before finds nothing.
// A handler may purge the peer whose message it belongs to: what the present step still refers to lasts until its end.
void EndpointCore::part_from(PeerIndex index, Fault why) {
  if (std::unique_ptr<Peer> peer = std::move(peers_[index]); peer != nullptr) {
    peer->closed = true;
    give_up(*peer, why);
    former_.at(index).life = peer->life;
    std::erase(contacted_, peer.get());
    if (peer->channel != nullptr) peer->channel->close();
    if (stepping_) buried_.push_back(std::move(peer));
  }
  for (const DirectTransport& direct : direct_transports_) direct.has.peer_eras->close_peer(index);
}

void EndpointCore::purge(PeerIndex index) {
  if (index >= peers_.size() || index == config_.self || purged(index)) return;
  former_.try_emplace(index, FormerPeer{false, false, config_.before_first(), 0}).first->second.purged = true;
  ++purged_peers_;
  collective_purged_ |= collective_.active();
  part_from(index, Fault::purged);
  if (collective_.active()) collective_.fail(kUnknownPeer, *this);
  if (!send_completions_.empty() && inline_depth_ == 0) run_send_handlers();
}

// The way to the peer is made at the next contact, under the new epoch. A peer that has resumed before sends at once.
void EndpointCore::resume(PeerIndex index, std::uint64_t epoch) {
  if (!purged(index)) return;
  FormerPeer& former = former_.at(index);
  former.purged = former.dropped = false;
  former.epoch = epoch;
  --purged_peers_;
  for (const DirectTransport& direct : direct_transports_) direct.has.peer_eras->open_peer(index);
}

void EndpointCore::expect_from(PeerIndex index) {
  if (index != config_.self) ++expected_[index];
}

void EndpointCore::expect_no_more_from(PeerIndex index) {
  const auto found = expected_.find(index);
  if (found != expected_.end() && --found->second == 0) expected_.erase(found);
}

}  // namespace openlapi
