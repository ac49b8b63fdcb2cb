// Eras of a task with each of its peers (guide, chapter 19): the user purges a peer, and resumes it later; or the
// engine gives it up, and both at once. Every reliable transport has them, with the same rule about threads as
// Transport; the engine's channels see to it over others.
#pragma once

#include <cstdint>

#include "dataplane/transport/packet.h"

namespace openlapi {

class PeerEras {
 public:
  // From purge_peer() on nothing is received that the peer has sent, or still sends, before it was added anew after
  // resume_peer(). Until then a sender that was added after purge_peer() finds the peer full: what it sends in the new
  // era waits with it.
  virtual void purge_peer(PeerIndex peer) = 0;
  virtual void resume_peer(PeerIndex peer) = 0;
  // As both, when it is the engine that gives the peer up: gave_up() tells the peer so.
  virtual void give_up_peer(PeerIndex peer) = 0;

  // Whether the peer has closed and opened its side since it was added, so that nothing which was sent to it counts any
  // more. True once; what is sent from then on is of its new era.
  virtual bool peer_began_anew(PeerIndex peer) = 0;

  // Whether the era of the peer's that is sent for began because the peer had given this task up, not with a purge.
  virtual bool gave_up(PeerIndex peer) const = 0;

  // The numbers of eras, 0 of the first: of this task's with the peer, and of the peer's with this task that it sends
  // for.
  virtual std::uint32_t era_with(PeerIndex peer) const = 0;
  virtual std::uint32_t era_sent_for(PeerIndex peer) const = 0;

 protected:
  ~PeerEras() = default;
};

}  // namespace openlapi
