#include "nic/verbs/served_connections.h"

#include <algorithm>
#include <utility>

namespace openlapi::verbs {

void ServedConnections::answer(const Served& served) {
  path_.send_message(served.peer, {.kind = ConnectionMessage::Kind::accept,
                                   .purpose = setting_.purpose,
                                   .reads = served.reads,
                                   .queue_pair = served.queue_pair->number(),
                                   .first_packet = served.queue_pair->first_packet(),
                                   .connection = served.connection,
                                   .address = path_.own_address()});
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
  if (served_.size() >= most_) {
    refuse(served_.front().peer, served_.front().connection, ConnectionMessage::Kind::close);
    served_.pop_front();
  }
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
  served_.push_back(std::move(served));
}

void ServedConnections::closed(PeerIndex peer, std::uint64_t connection) {
  std::erase_if(served_, [&](const Served& one) { return one.peer == peer && one.connection == connection; });
}

void ServedConnections::forget(PeerIndex peer) {
  std::erase_if(served_, [&](const Served& one) { return one.peer == peer; });
}

}  // namespace openlapi::verbs
