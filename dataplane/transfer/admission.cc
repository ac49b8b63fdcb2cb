#include "dataplane/transfer/admission.h"

#include "dataplane/reliability/fair_share.h"

namespace openlapi {

bool Admission::requests_exhausted(Peer& peer) const {
  if (in_handler()) {
    return handlers_bounded() && (peer.requests_waiting >= tuning::kMostRequestsOfHandlersPerPeer ||
                                  requests_.size() >= tuning::kMostRequestsOfHandlers);
  }
  const std::uint32_t room = peer.requests_full ? tuning::kRequestsThatLeaveTogether : 1;
  peer.requests_full = peer.requests_waiting + room > tuning::kMostRequestsPerPeer;
  return peer.backlog.size() >= config_.copy_buffers || peer.requests_full ||
         !may_take(peer.requests_waiting, requests_.size(), tuning::kMostRequests);
}

bool Admission::copies_exhausted(const Peer& peer) const {
  if (in_handler()) return handlers_bounded() && copies_waiting_ >= tuning::kMostCopiesOfHandlers;
  return !copy_has_room(peer);
}

bool Admission::copy_has_room(const Peer& peer) const {
  return may_take(peer.copies_waiting, copies_waiting_, config_.copy_buffers);
}

bool Admission::keeps_exhausted(const Peer& peer) const {
  const std::uint64_t kept = outgoing_.kept_bytes() + list_bytes_;
  if (in_handler()) return handlers_bounded() && kept >= tuning::kMostKeptBytesOfHandlers;
  return !may_take(peer.outgoing.kept_bytes + peer.list_bytes, kept, tuning::kMostKeptBytes);
}

bool Admission::own_exhausted() const {
  if (in_handler()) return handlers_bounded() && refused_.own_waiting() >= tuning::kMostCopiesOfHandlers;
  return refused_.own_waiting() >= config_.copy_buffers;
}

bool Admission::handlers_exhausted() const {
  return requests_.size() >= tuning::kMostRequestsOfHandlers || refused_.own_waiting() >= tuning::kMostCopiesOfHandlers;
}

void Admission::give_back_all(Peer& peer) {
  copies_waiting_ -= std::exchange(peer.copies_waiting, 0);
  peer.requests_waiting = 0;
  list_bytes_ -= std::exchange(peer.list_bytes, 0);
}

}  // namespace openlapi
