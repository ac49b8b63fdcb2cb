// What is on the way to a peer over one of its paths. Packets are numbered for the peer, whichever path takes them;
// which of them are lost is told by what was sent later over the same path and has arrived.
#pragma once

#include <cstdint>

#include "dataplane/base/clock.h"
#include "dataplane/reliability/sequence.h"

namespace openlapi {

// What a path is known to do.
struct PathTiming {
  Nanoseconds shortest_round_trip = 0;
  Nanoseconds reorder_time = 0;  // a packet sent this much before one that arrived is lost
  Nanoseconds patience = 0;      // a packet that was overtaken and sent this long ago is lost
};

// Asked for it only where a packet may be lost, or was sent again.
class PathTimings {
 public:
  virtual PathTiming timing_of(unsigned path) const = 0;

 protected:
  ~PathTimings() = default;
};

// What an acknowledgement, or the time, has told of a path.
struct PathNews {
  std::uint64_t in_flight = 0;          // bytes, before it
  bool lost = false;                    // packets were found lost that the window has not been cut for
  std::uint64_t bytes = 0;              // newly acknowledged
  Nanoseconds recheck_at = UINT64_MAX;  // when give_up_overtaken() would find more
  Nanoseconds round_trip = 0;           // measured, the receiver's delay included; 0: nothing to measure
  bool carried = false;                 // what was measured is a packet as long as any that the path has lost
};

// What was sent over a path so far: packets with payload.
struct PathTraffic {
  std::uint64_t packets = 0, bytes = 0, again = 0;  // `again`: retransmissions among the packets
  std::uint64_t lost = 0;  // packets that were taken for lost there, and left again, perhaps over another path
};

struct PathFlight {
  explicit PathFlight(Sequence first) : next_order(first + 1), newest_order(first), recovery(first) {}

  std::uint64_t bytes = 0;         // believed to be on the way
  std::uint32_t next_order;        // of the next transmission, among all of the path
  std::uint32_t newest_order;      // of those that are known to have arrived
  Sequence recovery;               // no loss before this packet is a reason for another cut
  std::uint32_t longest_lost = 0;  // bytes, since the path has brought a packet as long; some lose long ones only
  Nanoseconds newest_sent_at = 0;  // when the one of newest_order was sent
  bool newest_was_again = false;   // it was a retransmission: packets sent before it may be lost without any gap
  PathNews news;
  PathTraffic traffic;

  void begin_news() {
    news = {};
    news.in_flight = bytes;
  }
};

}  // namespace openlapi
