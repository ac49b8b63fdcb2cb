// What becomes of packets that were given to a reliable transport, for which there are no acknowledgements. Every
// reliable transport has it, with the same threading rule as Transport.
#pragma once

#include <cstdint>

#include "dataplane/transport/packet.h"

namespace openlapi {

class ReliableDelivery {
 public:
  // The latest send_burst() to `peer`, of one packet, was interrupted while it read the packet's pieces: the packet is
  // not sent, and what was begun for it is undone.
  virtual void send_abandoned(PeerIndex peer) = 0;

  // Whether a peer that is gone had closed its side in order, so that as far as it knew it owed nobody anything. Only
  // called for peers that are gone.
  virtual bool peer_left(PeerIndex peer) = 0;

  // What a peer does with the packets that are sent to it: `taken` changes whenever it has taken a packet of anybody's;
  // `waits`: something waits there, or waits for the peer to resume this task. A transport that cannot tell says no.
  struct Intake {
    std::uint64_t taken = 0;
    bool waits = false;
  };
  virtual Intake intake(PeerIndex peer) = 0;

  // A reliable transport delivers all peers' packets in one order. This is the peer whose turn it is but who has not
  // sent yet, with a number that differs from turn to turn. kUnknownPeer: none, or none that is not given up already.
  // It may name another peer than the true one if the turn could be either's. Asked at least a tenth of a second apart;
  // the turn of a peer that was given up is skipped when it is found for the second time.
  struct Turn {
    PeerIndex peer = kUnknownPeer;
    std::uint64_t number = 0;
    bool is_awaited = false;  // also one of a peer that is given up
    bool operator==(const Turn&) const = default;
  };
  virtual Turn awaited_turn() = 0;

  // How many packets all peers together have handed over so far, or are about to, in that order, and how many of them
  // were received. A transport that does not count says 0.
  struct Arrivals {
    std::uint64_t handed_over = 0, received = 0;
  };
  virtual Arrivals arrivals() const = 0;

  // Whether the peer takes nothing because it waits for another peer's turn.
  virtual bool waits_for_another(PeerIndex peer) = 0;

 protected:
  ~ReliableDelivery() = default;
};

}  // namespace openlapi
