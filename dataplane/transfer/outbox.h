// Sends records: to the transport at once if it has room; otherwise they wait, copied, in the peer's backlog. Peers
// with something waiting are served in turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/linked_list.h"
#include "dataplane/message/record_bytes.h"
#include "dataplane/message/step_signs.h"
#include "dataplane/peers/beginning_teller.h"
#include "dataplane/peers/dropped_peers.h"
#include "dataplane/peers/peer.h"
#include "dataplane/peers/statistics.h"
#include "dataplane/transfer/admission.h"

namespace openlapi {

class Outbox final : public BeginningTeller {
 public:
  using Pieces = std::span<const ConstBuffer>;

  Outbox(Statistics& statistics, Admission& admission, DroppedPeers& dropped, StepSigns& signs)
      : statistics_(statistics), admission_(admission), dropped_(dropped), signs_(signs) {}

  // False: no room. Records that wait already must leave first: see Peer::backlog.
  bool send_record(Peer& peer, Pieces pieces, std::uint32_t length);

  // Queues it behind everything that waits. `user_copy`: it counts against EndpointConfig::copy_buffers.
  [[gnu::noinline]] void queue_record(Peer& peer, Pieces pieces, std::uint32_t length, bool user_copy);
  void enqueue(Peer& peer, QueuedRecord record);

  // For the engine's own records: never refused.
  void post(Peer& peer, Pieces pieces, std::uint32_t length);
  template <typename Body>
  void post_record(Peer& peer, wire::RecordKind kind, const Body& body) {
    const RecordBytes fixed(kind, body);
    const ConstBuffer piece = fixed.piece();
    post(peer, {&piece, 1}, fixed.length());
  }
  // The same for answers to the peer's requests; a peer that never takes its answers is dropped in the end.
  template <typename Body>
  void answer(Peer& peer, wire::RecordKind kind, const Body& body) {
    const RecordBytes fixed(kind, body);
    const ConstBuffer piece = fixed.piece();
    answer(peer, {&piece, 1}, fixed.length());
  }
  void answer(Peer& peer, Pieces pieces, std::uint32_t length);

  // Sends what waits, as far as there is room.
  unsigned flush_backlog(Peer& peer);
  void drop_backlog(Peer& peer);

  bool tell_beginning(Peer& peer) override;
  void need_not_tell(Peer& peer) override;

  // Call it whenever what waits for the peer has changed.
  void look_whether_pending(Peer& peer);
  bool any_pending() const { return !pending_peers_.empty(); }
  std::size_t pending_count() const { return pending_count_; }
  Peer& next_in_turn();

 private:
  Statistics& statistics_;
  Admission& admission_;
  DroppedPeers& dropped_;
  StepSigns& signs_;
  LinkedList<Peer, &Peer::in_pending> pending_peers_;  // served in turn
  std::size_t pending_count_ = 0;
};

}  // namespace openlapi
