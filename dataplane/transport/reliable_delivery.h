// What becomes of packets that a reliable transport is given: no acknowledgement tells it. Every reliable transport has
// it, with the same rule about threads as Transport.
#pragma once

#include <cstdint>

#include "dataplane/transport/packet.h"

namespace openlapi {

class ReliableDelivery {
 public:
  // The latest send_burst() towards `peer`, of one packet, was left while it read the packet's pieces: the packet is
  // not sent, and what was begun for it ends.
  virtual void send_abandoned(PeerIndex peer) = 0;

  // Whether a peer that is gone had closed its side in order: it owed nobody anything that it knew of. Only asked about
  // peers that are gone.
  virtual bool peer_left(PeerIndex peer) = 0;

  // What a peer makes of what is sent to it over a reliable transport: a number that changes when it has taken
  // something of anybody's, and whether anything waits, also for the peer to resume this task. One that cannot tell
  // says no.
  struct Intake {
    std::uint64_t taken = 0;
    bool waits = false;
  };
  virtual Intake intake(PeerIndex peer) = 0;

  // A reliable transport hands on all packets of all peers in one order: which peer has its turn in it and has not sent
  // yet, and a number that differs from turn to turn. kUnknownPeer: none, or none that is not given up already. May be
  // of another peer whose turn could be the same. Asked at least a tenth of a second apart: the turn of one that is
  // given up passes when it is found twice.
  struct Turn {
    PeerIndex peer = kUnknownPeer;
    std::uint64_t number = 0;
    bool is_awaited = false;  // also one of a peer that is given up
    bool operator==(const Turn&) const = default;
  };
  virtual Turn awaited_turn() = 0;

  // How many packets all peers together have handed over so far, or are about to, in that order, and how many of them
  // have been received. A transport that does not count says 0.
  struct Arrivals {
    std::uint64_t handed_over = 0, received = 0;
  };
  virtual Arrivals arrivals() const = 0;

  // Whether it is for another peer's turn that a peer takes nothing.
  virtual bool waits_for_another(PeerIndex peer) = 0;

 protected:
  ~ReliableDelivery() = default;
};

}  // namespace openlapi
