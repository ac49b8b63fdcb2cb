// Peers that the engine drops at the end of its step, because of what they have sent or not sent. It has to wait until
// then because other parts of the step still refer to what is in progress with them.
#pragma once

#include <utility>
#include <vector>

#include "dataplane/host/handler_host.h"
#include "dataplane/message/step_signs.h"
#include "dataplane/peers/loss_reports.h"
#include "dataplane/peers/peer.h"

namespace openlapi {

class DroppedPeers {
 public:
  explicit DroppedPeers(StepSigns& signs) : signs_(signs) {}

  // False: the peer may not make this task keep another thing of `bytes` bytes, and is dropped.
  bool may_keep(Peer& peer, std::uint64_t bytes) {
    if (peer.kept.has_room(bytes) && !peer.closed) [[likely]]
      return true;
    drop(peer, Fault::too_much_kept);
    return false;
  }

  [[gnu::noinline]] void drop(Peer& peer, Fault why) {
    if (std::exchange(peer.closed, true)) return;
    dropped_.push_back({peer.index, why});
    signs_.set(StepSigns::dropped, true);
  }

  bool empty() const { return dropped_.empty(); }
  std::vector<Loss> take() {
    signs_.set(StepSigns::dropped, false);
    return std::exchange(dropped_, {});
  }

 private:
  StepSigns& signs_;
  std::vector<Loss> dropped_;
};

}  // namespace openlapi
