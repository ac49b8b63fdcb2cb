// How the engine finds the paths to a peer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "dataplane/transport/transport.h"
#include "dataplane/tuning.h"

namespace openlapi {

// The paths to a peer.
struct Route {
  std::array<Transport*, tuning::kMaxPathsPerPeer> paths{};  // best first
  std::size_t count = 0;                                     // of `paths`; 0: the peer cannot be reached
  std::uint64_t epoch = 0;  // the incarnation whose addresses these are; 0: not known, the first packet asks for it
  std::string reason;       // why `count` is 0
};

// Called at first contact, and again when a purged peer is resumed. May block for milliseconds (PMIx).
class RouteResolver {
 public:
  virtual ~RouteResolver() = default;
  // Adds `peer` to the transports that can serve it.
  virtual Route resolve(PeerIndex peer) = 0;
};

}  // namespace openlapi
