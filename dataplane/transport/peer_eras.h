// Eras of a task with each of its peers (guide, chapter 19). An era ends when the user purges the peer, and the next
// one begins when the user resumes it; or the engine gives the peer up, which does both at once. Every reliable
// transport has this interface, with the same threading rule as Transport; for unreliable ones the engine's channels do
// the same.
#pragma once

#include <cstdint>

#include "dataplane/transport/packet.h"

namespace openlapi {

class PeerEras {
 public:
  // After purge_peer() nothing is received that the peer has sent, or still sends, before resume_peer() was called here
  // and the peer has added this task again. Until then a sender that was added after purge_peer() finds the peer full:
  // what it sends in the new era waits.
  virtual void purge_peer(PeerIndex peer) = 0;
  virtual void resume_peer(PeerIndex peer) = 0;
  // Both at once, when the engine gives the peer up. The peer learns it from gave_up().
  virtual void give_up_peer(PeerIndex peer) = 0;

  // Whether the peer has purged and resumed this task since it was added, so that nothing sent to it before counts any
  // more. True once; what is sent afterwards belongs to its new era.
  virtual bool peer_began_anew(PeerIndex peer) = 0;

  // Whether the peer's era that is being sent for began because the peer had given this task up, and not with a purge.
  virtual bool gave_up(PeerIndex peer) const = 0;

  // Numbers of eras, the first is 0: this task's with the peer, and the peer's with this task that is being sent for.
  virtual std::uint32_t era_with(PeerIndex peer) const = 0;
  virtual std::uint32_t era_sent_for(PeerIndex peer) const = 0;

 protected:
  ~PeerEras() = default;
};

}  // namespace openlapi
