// What the classes that watch peers need to know of the present collective, and what they tell it.
#pragma once

#include <cstddef>

#include "dataplane/transport/packet.h"

namespace openlapi {

class CollectiveView {
 public:
  virtual bool active() const = 0;
  // Which task the next message that it needs comes from; only while it is active.
  virtual PeerIndex awaited() const = 0;
  // It cannot finish, because of `lost`; it reports that to the host.
  virtual void fail(PeerIndex lost) = 0;
  // What was in progress with a peer was given up: by a loss that is reported elsewhere, or by a purge. `missed`: as
  // for Losses::give_up().
  virtual void peer_given_up(PeerIndex missed) = 0;
  virtual void peer_purged() = 0;
  // Its messages to peers that are still looked for (PeerTable::is_undecided()). Sends those that need not wait longer.
  virtual std::size_t held_rounds() const = 0;
  virtual void send_held() = 0;

  bool waits_for(PeerIndex peer) const { return active() && peer == awaited(); }

 protected:
  ~CollectiveView() = default;
};

}  // namespace openlapi
