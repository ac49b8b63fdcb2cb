// How the engine finds the paths to a peer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/transport/transport.h"
#include "dataplane/tuning.h"

namespace openlapi {

// One more way that a path can lead, named by its own transport: from adapter 0 here, for instance, to adapter 1 there,
// or to adapter 0 there from adapter 1 here, if that has no path of its own. The transport that leads there has been
// told where it is under a number that is no task's.
struct OtherEnd {
  Transport* path;
  PeerIndex number;
  Transport* over = nullptr;  // leads there; null: the path's own
};

// The paths to a peer.
struct Route {
  std::array<Transport*, tuning::kMaxPathsPerPeer> paths{};  // best first
  std::size_t count = 0;                                     // of `paths`; 0: the peer cannot be reached
  std::vector<OtherEnd> other_ends{};                        // of the paths
  std::uint64_t epoch = 0;  // the incarnation whose addresses these are; 0: not known, the first packet asks for it
  bool undecided = false;   // `count` is 0, but that may change within seconds: ask again
  std::string reason;       // why `count` is 0
};

// Called at first contact, and again when a purged peer is resumed. May block for milliseconds (PMIx).
class RouteResolver {
 public:
  virtual ~RouteResolver() = default;
  // Adds `peer` to the transports that can serve it.
  virtual Route resolve(PeerIndex peer) = 0;
  // An adapter of `peer`, with which there are paths, is not where it was published to be. True: the transports that
  // lead there have been told.
  virtual bool address_changed(PeerIndex peer, const PeerAddress& published, const PeerAddress& present) {
    return (void)peer, (void)published, (void)present, false;
  }
};

}  // namespace openlapi
