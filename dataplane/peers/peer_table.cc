#include "dataplane/peers/peer_table.h"

#include <algorithm>
#include <utility>

#include "dataplane/base/cancellation.h"
#include "dataplane/base/check.h"
#include "dataplane/tuning.h"

namespace openlapi {

namespace {

// The best path, and those that can take its place: over other instances of the same network.
std::vector<Transport*> paths_beside(const Route& route) {
  std::vector<Transport*> paths;
  for (std::size_t i = 0; i < route.count; ++i) {
    Transport* const path = route.paths[i];
    if (!path->limits().reliable && path->name() == route.paths[0]->name()) paths.push_back(path);
  }
  return paths;
}

}  // namespace

Peer* PeerTable::first_contact(PeerIndex index) {
  peers_[index] = make_peer(index);
  Peer* const peer = peers_[index].get();
  if (peer == nullptr) return nullptr;
  contacted_.push_back(peer);
  if (peer->is_direct() && former_.contains(index)) teller_.tell_beginning(*peer);
  return peer;
}

std::unique_ptr<Peer> PeerTable::make_peer(PeerIndex index) {
  const auto former = former_.find(index);
  undecided_.erase(index);
  if (is_self(index)) return nullptr;
  if (former != former_.end() && (former->second.purged || former->second.dropped)) return nullptr;
  const CancellationOff off;
  const Route route = resolver_.resolve(index);
  if (route.undecided) undecided_.insert(index);
  if (route.count == 0) return nullptr;

  auto peer = std::make_unique<Peer>();
  peer->index = index;
  peer->incarnation = config_.before_first();
  ChannelEpochs epochs{0, route.epoch};
  if (former != former_.end()) {
    peer->incarnation = former->second.incarnation;
    epochs = {former->second.epoch, 0};  // the peer may have begun anew as well: its present epoch is not the published
  }
  choose_path(*peer, route, epochs, former == former_.end());
  OPENLAPI_CHECK(peer->max_record >= tuning::kSmallestRecord);
  return peer;
}

void PeerTable::look_for_undecided() {
  const std::vector<PeerIndex> undecided(undecided_.begin(), undecided_.end());
  for (const PeerIndex index : undecided) contact(index);
}

void PeerTable::choose_path(Peer& peer, const Route& route, const ChannelEpochs& epochs, bool is_new) {
  Transport& best = *route.paths[0];
  if (best.limits().reliable) {
    const TransportCapabilities has = best.capabilities();
    peer.direct = &best;
    peer.liveness = has.peer_liveness;
    peer.delivery = has.reliable_delivery;
    peer.eras = has.peer_eras;
    peer.remote_memory = has.remote_memory;
    peer.direct_memory = has.direct_memory;
    peer.max_record = max_packet_to(best, peer.index) & ~7u;
    peer.deaf = is_new && has.peer_eras->era_sent_for(peer.index) != 0;
  } else {
    peer.channel = channels_->make_channel(peer.index, paths_beside(route), epochs, route.other_ends);
    peer.max_record = peer.channel->max_record();
  }
  choose_bulk_paths(peer, route);
}

void PeerTable::choose_bulk_paths(Peer& peer, const Route& route) {
  const std::vector<Transport*> in_channel = paths_beside(route);
  for (std::size_t i = 0; i < route.count && peer.bulk_paths.size() < wire::kMostBulkKeys; ++i) {
    const TransportCapabilities has = route.paths[i]->capabilities();
    if (has.bulk_memory == nullptr) continue;
    const auto found = std::ranges::find(in_channel, route.paths[i]);
    const auto number = static_cast<unsigned>(found - in_channel.begin());
    const bool is_in_channel = peer.channel != nullptr && found != in_channel.end();
    peer.bulk_paths.push_back({.memory = has.bulk_memory,
                               .in_channel = is_in_channel ? number : BulkPath::kNoNumber,
                               .one_sided = is_in_channel ? has.one_sided_memory : nullptr});
    peer.reads_one_sided = peer.reads_one_sided || peer.bulk_paths.back().one_sided != nullptr;
  }
}

bool PeerTable::purged(PeerIndex index) const {
  if (former_.empty()) return false;
  const auto found = former_.find(index);
  return found != former_.end() && found->second.purged;
}

std::uint32_t PeerTable::incarnation_of(PeerIndex index) const {
  if (peers_[index] != nullptr) return peers_[index]->incarnation;
  const auto found = former_.find(index);
  return found == former_.end() ? config_.before_first() : found->second.incarnation;
}

FormerPeer& PeerTable::former(PeerIndex index) {
  return former_.try_emplace(index, FormerPeer{false, false, config_.before_first(), 0}).first->second;
}

void PeerTable::set_purged(PeerIndex index) {
  former(index).purged = true;
  ++purged_peers_;
}

bool PeerTable::resume(PeerIndex index, std::uint64_t epoch) {
  if (!purged(index)) return false;
  FormerPeer& former = former_.at(index);
  former.purged = former.dropped = false;
  former.epoch = epoch;
  --purged_peers_;
  return true;
}

std::vector<PathStatus> PeerTable::paths_to(PeerIndex index) const {
  const Peer* const peer = knows(index) ? find(index) : nullptr;
  if (peer == nullptr || peer->channel == nullptr) return {};
  std::vector<PathStatus> statuses = peer->channel->path_statuses();
  for (const BulkPath& path : peer->bulk_paths) {
    if (peer->is_in_channel(path)) statuses[path.in_channel].read = path.read;
  }
  return statuses;
}

void PeerTable::tell_addresses(const Transport& changed) {
  for (const Peer* peer : contacted_) {
    if (peer->channel != nullptr) channels_->tell_addresses(*peer->channel, changed);
  }
}

std::unique_ptr<Peer> PeerTable::take(PeerIndex index) {
  std::unique_ptr<Peer> peer = std::move(peers_[index]);
  if (peer != nullptr) std::erase(contacted_, peer.get());
  return peer;
}

}  // namespace openlapi
