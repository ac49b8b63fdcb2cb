// All tasks of a job as an endpoint knows them: a Peer for each that was talked to, created at first contact, and what
// is left of those that were purged or dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dataplane/host/endpoint_config.h"
#include "dataplane/host/requests.h"
#include "dataplane/host/route_resolver.h"
#include "dataplane/paths/channel_set.h"
#include "dataplane/peers/beginning_teller.h"
#include "dataplane/peers/peer.h"

namespace openlapi {

class PeerTable {
 public:
  // `channels`: null if there are no unreliable transports.
  PeerTable(const EndpointConfig& config, ChannelSet* channels, RouteResolver& resolver, BeginningTeller& teller)
      : config_(config), channels_(channels), resolver_(resolver), teller_(teller), peers_(config.tasks) {}

  bool is_self(PeerIndex index) const { return index == config_.self; }

  // The peer; created now if it is new. Null: there is no path to it, or that is undecided; or it is purged, dropped,
  // or this task.
  Peer* contact(PeerIndex index) {
    if (index >= peers_.size()) [[unlikely]]
      return nullptr;
    Peer* peer = peers_[index].get();
    return peer != nullptr ? peer : first_contact(index);
  }
  // Null: it was not talked to.
  Peer* find(PeerIndex index) const { return peers_[index].get(); }
  bool knows(PeerIndex index) const { return index < peers_.size() && peers_[index] != nullptr; }
  Peer& at(PeerIndex index) const { return *peers_[index]; }
  std::size_t tasks() const { return peers_.size(); }

  // To a peer over unreliable transports, the best first. Empty: it is reached otherwise, or was not talked to.
  std::vector<PathStatus> paths_to(PeerIndex index) const;

  // All peers that were talked to. May grow while losses are handled.
  const std::vector<Peer*>& contacted() const { return contacted_; }

  // The answer to an operation whose target has no Peer.
  Submit refusal(PeerIndex index) const {
    if (purged(index)) return Submit::purged;
    return is_undecided(index) ? Submit::busy : Submit::unreachable;
  }
  // Whether there is a path to the peer was not known at the latest contact().
  bool is_undecided(PeerIndex index) const { return undecided_.contains(index); }
  bool any_undecided() const { return !undecided_.empty(); }
  // Asks for them again.
  void look_for_undecided();
  bool purged(PeerIndex index) const;
  bool any_purged() const { return purged_peers_ != 0; }
  // Changes each time that everything in progress with the peer is given up.
  std::uint32_t incarnation_of(PeerIndex index) const;

  // Until it is resumed nothing is taken from the peer, and no operation to it is accepted. A dropped peer has to be
  // purged before it can be resumed.
  void set_purged(PeerIndex index);
  void set_dropped(PeerIndex index) { former(index).dropped = true; }
  // The path to the peer is made at the next contact, under the new epoch. False: it is not purged.
  bool resume(PeerIndex index, std::uint64_t epoch);

  // The transport has another address: all peers are told.
  void tell_addresses(const Transport& changed);
  // RouteResolver::address_changed()
  bool address_changed(PeerIndex index, const PeerAddress& published, const PeerAddress& present) {
    return resolver_.address_changed(index, published, present);
  }

  // Keeps nothing of the peer but the number of its incarnations here. Null: it was not talked to.
  std::unique_ptr<Peer> take(PeerIndex index);
  void keep_incarnation(const Peer& peer) { former_.at(peer.index).incarnation = peer.incarnation; }

 private:
  [[gnu::noinline]] Peer* first_contact(PeerIndex index);
  std::unique_ptr<Peer> make_peer(PeerIndex index);
  void choose_path(Peer& peer, const Route& route, const ChannelEpochs& epochs, bool is_new);
  static void choose_bulk_paths(Peer& peer, const Route& route);
  FormerPeer& former(PeerIndex index);

  const EndpointConfig& config_;
  ChannelSet* channels_;
  RouteResolver& resolver_;
  BeginningTeller& teller_;
  std::vector<std::unique_ptr<Peer>> peers_;  // by task; null until first contact
  std::vector<Peer*> contacted_;
  std::unordered_set<PeerIndex> undecided_;
  std::unordered_map<PeerIndex, FormerPeer> former_;
  std::uint32_t purged_peers_ = 0;
};

}  // namespace openlapi
