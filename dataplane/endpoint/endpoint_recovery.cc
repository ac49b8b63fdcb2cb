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

// Nothing of the peer is kept but the number of its lives here: what was sent under its state before finds nothing.
void EndpointCore::purge(PeerIndex index) {
  if (index >= peers_.size() || index == config_.self || purged(index)) return;
  FormerPeer& former = former_.try_emplace(index, FormerPeer{false, 0, 0}).first->second;
  former.purged = true;
  ++purged_peers_;
  collective_purged_ |= collective_.active();
  if (std::unique_ptr<Peer> peer = std::move(peers_[index]); peer != nullptr) {
    give_up(*peer, Fault::purged);
    former.life = peer->life;
    std::erase(contacted_, peer.get());
  }
  if (collective_.active()) collective_.fail(kUnknownPeer, *this);
  if (!send_completions_.empty() && inline_depth_ == 0) run_send_handlers();
}

// The way to the peer is made at the next contact, under the new epoch.
void EndpointCore::resume(PeerIndex index, std::uint32_t epoch) {
  if (!purged(index)) return;
  FormerPeer& former = former_.at(index);
  former.purged = false;
  former.epoch = epoch;
  --purged_peers_;
}

void EndpointCore::expect_from(PeerIndex index) {
  if (index != config_.self) ++expected_[index];
}

void EndpointCore::expect_no_more_from(PeerIndex index) {
  const auto found = expected_.find(index);
  if (found != expected_.end() && --found->second == 0) expected_.erase(found);
}

}  // namespace openlapi
