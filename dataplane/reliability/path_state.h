// What a channel knows of one of its paths, and when it looks after what it has sent there.
#pragma once

#include <cstdint>

#include "dataplane/base/clock.h"
#include "dataplane/reliability/congestion.h"
#include "dataplane/reliability/path_flight.h"
#include "dataplane/reliability/round_trip.h"

namespace openlapi {

struct PathState {
  PathState(std::uint32_t max_packet, std::uint64_t most_bytes) : congestion(max_packet, most_bytes) {}

  PathTiming timing() const { return {round_trip.shortest(), round_trip.reorder_time(), round_trip.patience()}; }
  Nanoseconds deadline() const { return retransmit_at < recheck_at ? retransmit_at : recheck_at; }
  void stop_timers() { retransmit_at = recheck_at = UINT64_MAX; }

  RoundTrip round_trip;
  Congestion congestion;
  std::uint64_t bytes_since_request = 0;  // sent since an acknowledgement was asked for
  Nanoseconds retransmit_at = UINT64_MAX;
  Nanoseconds recheck_at = UINT64_MAX;  // when an overtaken packet counts as lost
};

}  // namespace openlapi
