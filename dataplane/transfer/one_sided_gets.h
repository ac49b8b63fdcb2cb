// Gets of a few bytes that this task's adapter reads from the peer's memory, without a message and without the peer's
// processor (transport/one_sided_memory.h). For fences, waits and losses they are gets like others, among the requests;
// the peer knows nothing of them. What could not be read is asked for by a message.
// Nothing overtakes what was begun before it: such a get goes only when the peer has taken all that was sent to it. A
// get whose target counter has to move there takes a message, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/host/requests.h"
#include "dataplane/message/step_signs.h"
#include "dataplane/peers/peer_table.h"
#include "dataplane/transfer/attach_reads.h"
#include "dataplane/transfer/pending_requests.h"

namespace openlapi {

class OneSidedGets {
 public:
  struct Means {
    PeerTable& peers;
    PendingRequests& requests;
    GetFallback& fallback;
    std::span<OneSidedMemory* const> memories;  // of all transports
    StepSigns& signs;
  };
  explicit OneSidedGets(const Means& means) : means_(means) {}

  // `id`: of the get among the requests. False: it takes a message.
  bool begin(Peer& peer, std::uint32_t id, const GetRequest& request) {
    return peer.reads_one_sided && may_go(peer, request) && begin_now(peer, id, request);
  }

  // Ends those that were read.
  [[gnu::noinline]] unsigned advance();

  bool empty() const { return under_way_ == 0; }

 private:
  static bool may_go(const Peer& peer, const GetRequest& request) {
    return request.length - 1 < OneSidedMemory::kMostBytes && request.target_counter == 0 && peer.backlog.empty() &&
           peer.outgoing.empty() && peer.channel->all_acknowledged();
  }
  [[gnu::noinline]] bool begin_now(Peer& peer, std::uint32_t id, const GetRequest& request);
  void ended(const OneSidedMemory::Ending& ending);

  const Means means_;
  std::size_t under_way_ = 0;
};

}  // namespace openlapi
