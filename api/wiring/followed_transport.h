// A UDP transport of a context with several adapters, on a node with a daemon: the engine also learns from the daemon
// which peers are not reached (peer_adapters.h).
#pragma once

#include <memory>

#include "api/wiring/peer_adapters.h"
#include "dataplane/transport/transport.h"

namespace openlapi {

// `wakes`: whoever sleeps on this transport is woken by news; one of the context's transports is enough. Null
// `adapters`: the transport itself.
std::unique_ptr<Transport> followed(std::unique_ptr<Transport> transport, std::shared_ptr<PeerAdapters> adapters,
                                    bool wakes);

}  // namespace openlapi
