// A way to a peer: a transport that reaches it, and where the peer is there.
#pragma once

#include <cstdint>

#include "dataplane/transport/link_status.h"
#include "dataplane/transport/transport.h"

namespace openlapi {

struct PeerPath {
  Transport* transport;
  const TransportCapabilities* capabilities;  // the transport's; outlive the path
  PeerIndex end;                              // the number under which the transport knows where packets go
  std::uint64_t origin = 0;                   // of the peer's packets, when it was last asked for; 0: not known

  void ask_origin() {
    origin = capabilities->packet_origins != nullptr ? capabilities->packet_origins->origin_of(end) : 0;
  }
  bool peer_gone() const {
    return capabilities->peer_liveness != nullptr && capabilities->peer_liveness->peer_gone(end);
  }
  // Who says that packets do not get there (LinkStatus).
  std::uint32_t words_against() const {
    return capabilities->link_status != nullptr ? capabilities->link_status->words_against(end) : 0;
  }
};

}  // namespace openlapi
