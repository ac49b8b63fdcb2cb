// What the engine tells of the paths to its peers, for people.
#pragma once

#include <cstdint>

#include "dataplane/base/clock.h"
#include "dataplane/transport/packet.h"
#include "dataplane/transport/transport.h"

namespace openlapi {

enum class PathCause : std::uint8_t {
  no_answer,     // its probes stayed unanswered while the peer answered those of another path
  link_down,     // the adapter here, or the peer's, has no link any more
  answered,      // the peer has answered a probe
  carried_data,  // the peer has acknowledged what was sent over it
};

// A path to a peer has failed, or serves again.
struct PathChange {
  const Transport* path = nullptr;  // that has changed
  // That packets leave over now; perhaps the same, or the one that they left over before. Null: all have failed.
  const Transport* taken = nullptr;
  bool none_serves = false;  // all have failed, which the change that was told before does not say
  // The peer's ends of both, as their transports know them.
  PeerIndex end = kUnknownPeer, taken_end = kUnknownPeer;
  PathCause cause = PathCause::no_answer;
  const char* told_by = nullptr;  // who says that the link is down (LinkStatus); null: the system here
  Nanoseconds waited = 0;         // since its time-out ran out
  Nanoseconds idle = 0;           // of a failure: how long nothing that was sent to the peer was acknowledged
  std::uint32_t untold = 0;       // changes of the peer's paths since the one that was told before

  bool failed() const { return cause == PathCause::no_answer || cause == PathCause::link_down; }
};

// An adapter has another address.
struct AddressChange {
  const Transport* transport = nullptr;  // of this task; null: of the peer
  PeerIndex peer = kUnknownPeer;         // with `transport`: none
  PeerAddress before, now;               // of the peer's: what was published, and what it is now
};

// One path to a peer. What it was given to carry counts from the first contact on.
struct PathStatus {
  const Transport* transport = nullptr;
  PeerIndex end = kUnknownPeer;  // the peer's, as the transport knows it
  bool in_use = false;           // short messages leave over it; long ones over all that serve
  bool is_there = true;          // false: nobody has told yet where it leads
  Nanoseconds silent_since = 0;  // by the endpoint's clock; 0: it serves, as far as is known
  Nanoseconds round_trip = 0;    // smoothed; 0: not measured
  std::uint64_t packets = 0;     // with records, those that were sent again included
  std::uint64_t bytes = 0;       // of these packets
  std::uint64_t again = 0;       // retransmissions among them
  std::uint64_t lost = 0;        // of these packets, those that were taken for lost
  std::uint64_t failures = 0;    // how often it was found to have failed
  std::uint64_t read = 0;        // bytes of the peer's memory that the adapter here has read
};

}  // namespace openlapi
