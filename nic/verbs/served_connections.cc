#include "nic/verbs/served_connections.h"

#include <algorithm>
#include <utility>

#include "dataplane/base/cancellation.h"
#include "nic/verbs/monotonic_time.h"

namespace openlapi::verbs {

void ServedConnections::answer(const Served& served) {
  path_.send_message(served.peer, {.kind = ConnectionMessage::Kind::accept,
                                   .purpose = setting_.purpose,
                                   .reads = served.reads,
                                   .queue_pair = served.queue_pair->number(),
                                   .first_packet = served.queue_pair->first_packet(),
                                   .connection = served.connection,
                                   .address = path_.own_address(),
                                   .key = setting_.told_key});
}

void ServedConnections::refuse(PeerIndex peer, std::uint64_t connection, ConnectionMessage::Kind kind) {
  path_.send_message(peer, {.kind = kind,
                            .purpose = setting_.purpose,
                            .reads = 0,
                            .queue_pair = 0,
                            .first_packet = 0,
                            .connection = connection,
                            .address = path_.own_address()});
}

void ServedConnections::requested(PeerIndex peer, const ConnectionMessage& request) {
  for (const Served& served : served_) {
    if (served.peer == peer && served.connection == request.connection) return answer(served);  // its answer was lost
  }
  forget(peer);
  if (leaving() >= RetiringQueuePairs::kMost) {
    return refuse(peer, request.connection, ConnectionMessage::Kind::refuse);
  }
  if (served_.size() >= most_) close_least_used();
  Served served{.peer = peer,
                .connection = request.connection,
                .reads = std::min(setting_.reads, request.reads),
                .queue_pair = ReliableQueuePair::make(setting_)};
  const ReliablePeer end{.queue_pair = request.queue_pair,
                         .first_packet = request.first_packet,
                         .mtu = std::min(path_.own_address().mtu, request.address.mtu),
                         .reads = served.reads,
                         .route = path_.route_to_address(request.address)};
  if (!served.queue_pair || served.queue_pair->connect(end) != 0) {
    return refuse(peer, request.connection, ConnectionMessage::Kind::refuse);
  }
  answer(served);
  last_uses_.note(served.queue_pair->number());
  served_.push_back(std::move(served));
}

void ServedConnections::decline(PeerIndex peer, const ConnectionMessage& request) {
  refuse(peer, request.connection, ConnectionMessage::Kind::refuse);
}

// A question for a ring that was granted before comes again because the answer was lost. Or it is late, and the ring
// has been given back: its sender's words are used no more, and it may have another ring by now.
RingPlace ServedConnections::ring_for(Served& served, const ConnectionMessage& request) {
  if (request.ring < served.rings) return rings_->find(*served.queue_pair, request.place);
  const RingPlace made = rings_->grant(*served.queue_pair, request.connection, request.place);
  if (made.address != 0) served.rings = request.ring + 1u;
  return made;
}

void ServedConnections::ring_requested(PeerIndex peer, const ConnectionMessage& request) {
  ConnectionMessage answer{.kind = ConnectionMessage::Kind::ring_refuse,
                           .purpose = setting_.purpose,
                           .connection = request.connection,
                           .address = path_.own_address(),
                           .ring = request.ring};
  const auto served = std::ranges::find_if(
      served_, [&](const Served& one) { return one.peer == peer && one.connection == request.connection; });
  if (rings_ && served != served_.end()) answer.place = ring_for(*served, request);
  if (answer.place.address != 0) answer.kind = ConnectionMessage::Kind::ring_grant;
  path_.send_message(peer, answer);
}

void ServedConnections::close_least_used() {
  std::size_t least = 0;
  const auto last_use = [&](std::size_t which) { return last_uses_.of(served_[which].queue_pair->number()); };
  for (std::size_t which = 1; which < served_.size(); ++which) {
    if (last_use(which) < last_use(least)) least = which;
  }
  close(least);
}

void ServedConnections::close(std::size_t which) {
  refuse(served_[which].peer, served_[which].connection, ConnectionMessage::Kind::close);
  leave(which);
}

void ServedConnections::keep_up_rings() {
  if (!rings_) return;
  rings_->keep_up();
  const ReliableQueuePair* const overdue = rings_->overdue();
  for (std::size_t which = served_.size(); overdue != nullptr && which-- != 0;) {
    if (served_[which].queue_pair.get() == overdue) close(which);
  }
}

// What is only read through has nothing that could be lost with it.
void ServedConnections::leave(std::size_t which) {
  const auto one = served_.begin() + static_cast<std::ptrdiff_t>(which);
  const ReliableQueuePair* const queue_pair = one->queue_pair.get();
  if (setting_.shared != nullptr) retiring_.add(std::move(one->queue_pair), milliseconds(), one->done);
  if (rings_) rings_->forget(queue_pair);
  served_.erase(one);
}

// Queue pairs that are not served any more, and still there.
std::size_t ServedConnections::leaving() const {
  return retiring_.count() + (setting_.destruction != nullptr ? setting_.destruction->count() : 0);
}

void ServedConnections::closed(PeerIndex peer, std::uint64_t connection) {
  for (std::size_t which = served_.size(); which-- != 0;) {
    if (served_[which].peer == peer && served_[which].connection == connection) leave(which);
  }
}

void ServedConnections::forget(PeerIndex peer) {
  for (std::size_t which = served_.size(); which-- != 0;) {
    if (served_[which].peer == peer) leave(which);
  }
}

// What the adapter tells now is not to be believed before the queue has been found empty once more.
void ServedConnections::retire(bool emptied) {
  if (retiring_.count() == 0) return;
  if (emptied) retiring_.arrivals_were_taken();
  read_events();
  retiring_.keep_time(milliseconds());
}

// All that wait: those of others, of which their completions tell as well, would be in the way. Each is acknowledged at
// once, as its queue pair cannot be destroyed before.
void ServedConnections::read_events() {
  const CancellationOff off;
  ibv_async_event event{};
  while (ibv_get_async_event(setting_.context, &event) == 0) {
    if (event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED) last_request_done(*event.element.qp);
    ibv_ack_async_event(&event);
  }
}

// One that is still served tells it only once: it is remembered until the connection leaves.
void ServedConnections::last_request_done(const ibv_qp& queue_pair) {
  retiring_.last_request_done(queue_pair);
  for (Served& one : served_) {
    if (one.queue_pair->queue_pair() == &queue_pair) one.done = true;
  }
}

}  // namespace openlapi::verbs
