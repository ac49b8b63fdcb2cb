// One path to a peer: a transport that reaches it, and where the peer is there.
#pragma once

#include <cstdint>

#include "dataplane/transport/transport.h"

namespace openlapi {

struct PeerPath {
  Transport* transport;
  const TransportCapabilities* capabilities;  // the transport's; outlive the path
  PeerIndex end;                              // the number under which the transport knows where packets go
  std::uint64_t origin = 0;                   // of the peer's packets, when it was last asked for; 0: not known

  void ask_origin(PeerIndex peer) {
    origin = capabilities->packet_origins != nullptr ? capabilities->packet_origins->origin_of(peer) : 0;
  }
  bool peer_gone(PeerIndex peer) const {
    return capabilities->peer_liveness != nullptr && capabilities->peer_liveness->peer_gone(peer);
  }
};

}  // namespace openlapi
