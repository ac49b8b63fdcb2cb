// Watches peers that owe something, and notices those that have ended, restarted, or stay silent.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "dataplane/base/absence.h"
#include "dataplane/base/clock.h"
#include "dataplane/host/endpoint_config.h"
#include "dataplane/peers/losses.h"
#include "dataplane/peers/statistics.h"
#include "dataplane/peers/timer_pacing.h"
#include "dataplane/tuning.h"
#include "dataplane/wire/operation_header.h"

namespace openlapi {

class PeerWatch {
 public:
  struct Means {
    const EndpointConfig& config;
    PeerTable& peers;
    Statistics& statistics;
    TimerPacing& pacing;
    LossReports& reports;
    const Transports& transports;
    BeginningTeller& teller;
    CollectiveView& collective;
    Losses& losses;
  };
  explicit PeerWatch(const Means& means) : means_(means) {}

  // Call at least every tuning::kWatchPeers. `may_come`: something that a peer sent before it ended may still arrive.
  void look(Nanoseconds now, bool may_come) {
    if (waits_for_search()) [[unlikely]]
      go_on_searching(now);
    if (now - last_look_ < tuning::kWatchPeers) return;
    last_look_ = now;
    look_at_all(now, may_come);
  }

  // Somebody waits for a message that the peer sends by itself: it is watched although it owes no answer. Calls nest.
  void expect(PeerIndex index);
  void expect_no_more(PeerIndex index);
  bool expects_any() const { return !expected_.empty(); }
  // A peer is looked for, or something waits for one that was.
  bool waits_for_search() const { return means_.peers.any_undecided() || means_.collective.held_rounds() != 0; }

  // The peer is a new process, or the same one, which `gave_up` this task: what was outstanding to it before will never
  // be answered. `lost`: also something that nobody waits for.
  void restarted(Peer& peer, bool lost, bool gave_up) {
    begun_anew(peer, lost, gave_up ? means_.config.self : peer.index);
  }

  // A peer over a reliable transport says that it begins anew, with this era.
  void on_beginning(Peer& from, std::uint32_t era);

 private:
  [[gnu::noinline, gnu::cold]] void go_on_searching(Nanoseconds now);
  void look_at_all(Nanoseconds now, bool may_come);
  bool has_died_in_use(Peer& peer) const;
  bool is_overdue(const Peer& peer, Nanoseconds now) const;
  bool turn_is_overdue(Nanoseconds now) const;
  void look_at(Peer& peer, Nanoseconds now, bool may_come);
  void look_at_direct(Peer& peer, Nanoseconds now, bool may_come);
  void look_at_gone(Peer& peer, Nanoseconds now, bool may_come);
  void look_at_turn(ReliableDelivery& delivery, Nanoseconds now);
  void ask(Peer& peer, Nanoseconds now);
  void look_soon();
  bool something_outstanding(const Peer& peer) const;
  bool follow(Peer& peer);
  void begun_anew(Peer& peer, bool lost, PeerIndex missed);

  const Means means_;
  std::unordered_map<PeerIndex, std::uint32_t> expected_;  // for each peer that is waited for: how many wait
  Nanoseconds searched_ = 0, last_look_ = 0, turn_asked_ = 0, turn_since_ = 0;
  ReliableDelivery::Turn turn_seen_{};
  Absence absence_{tuning::kAbsence};
};

}  // namespace openlapi
