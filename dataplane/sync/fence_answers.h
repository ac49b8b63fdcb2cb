// The target's side of fences: a peer that asks is answered as soon as every message from it that had begun to arrive
// is in place.
#pragma once

#include <cstdint>

#include "dataplane/peers/dropped_peers.h"
#include "dataplane/peers/peer.h"
#include "dataplane/transfer/outbox.h"

namespace openlapi {

class FenceAnswers {
 public:
  FenceAnswers(Outbox& outbox, DroppedPeers& dropped) : outbox_(outbox), dropped_(dropped) {}

  void on_request(Peer& from, const wire::Record& record);

  // Message `number` of the peer is in place.
  void message_finished(Peer& from, std::uint64_t number) {
    ++from.messages_finished;
    if (!from.fence_requests.empty()) [[unlikely]]
      answer_waiting(from, number);
  }

 private:
  [[gnu::noinline]] void answer_waiting(Peer& from, std::uint64_t number);

  Outbox& outbox_;
  DroppedPeers& dropped_;
};

}  // namespace openlapi
