// Peers that are lost, dropped, or purged by the user (guide, chapter 19): everything in progress with such a peer is
// given up, so that nothing waits for ever, and the host is told at the end of the step.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/counter/counters.h"
#include "dataplane/host/handler_host.h"
#include "dataplane/peers/beginning_teller.h"
#include "dataplane/peers/collective_view.h"
#include "dataplane/peers/dropped_peers.h"
#include "dataplane/peers/loss_reports.h"
#include "dataplane/peers/peer_table.h"
#include "dataplane/peers/transports.h"

namespace openlapi {

// Everything that the engine has in progress; it can forget what concerns one peer.
class UnderWay {
 public:
  virtual void give_up(Peer& peer, Fault fault, CounterLoss why) = 0;

 protected:
  ~UnderWay() = default;
};

class Losses {
 public:
  struct Means {
    Counters& counters;
    PeerTable& peers;
    DroppedPeers& dropped;
    LossReports& reports;
    const Transports& transports;
    BeginningTeller& teller;
    CollectiveView& collective;
    UnderWay& under_way;
    StepSigns& signs;
  };
  explicit Losses(const Means& means) : means_(means) {}

  // The peer is lost: everything in progress is given up; later messages to it start afresh, if they may.
  void lose(Peer& peer, Fault fault);
  // Resets the peer to the state of first contact. `missed`: without whom a present collective cannot finish, as its
  // other tasks are told: the peer, this task if the peer has given it up, or, where one has purged the other, nobody
  // (kUnknownPeer).
  void give_up(Peer& peer, Fault fault, PeerIndex missed);

  // As Endpoint::purge(). False: there is nothing to purge.
  bool purge(PeerIndex index);
  void resume(PeerIndex index, std::uint64_t epoch);

  // A step begins or ends: what the step may still refer to is kept until its end.
  void step_begins() { stepping_ = true; }
  void step_is_over() { stepping_ = false; }
  // Does what a step has left for its end (StepSigns::dropped and ::buried).
  void part_from_dropped();
  void bury();

 private:
  void part_from(PeerIndex index, Fault why);
  void give_up_counters(Peer& peer, CounterLoss why);

  const Means means_;
  std::vector<std::unique_ptr<Peer>> buried_;  // purged by handlers of this step, which may still refer to them
  bool stepping_ = false;
};

}  // namespace openlapi
