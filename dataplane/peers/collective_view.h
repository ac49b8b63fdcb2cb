// What those who look after peers have to know of the present collective, and to tell it.
#pragma once

#include "dataplane/transport/packet.h"

namespace openlapi {

class CollectiveView {
 public:
  virtual bool active() const = 0;
  // Whom the next message that it needs comes from, while it is active.
  virtual PeerIndex awaited() const = 0;
  // It cannot finish, because of `lost`; the host hears of it.
  virtual void fail(PeerIndex lost) = 0;
  // What was under way with the peer has been given up: a loss that the host hears of otherwise, or a purge.
  virtual void peer_given_up(PeerIndex peer) = 0;
  virtual void peer_purged() = 0;

  bool waits_for(PeerIndex peer) const { return active() && peer == awaited(); }

 protected:
  ~CollectiveView() = default;
};

}  // namespace openlapi
