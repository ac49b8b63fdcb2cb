// What every message that moves data ends with, inline for those whose whole work is little more.
#pragma once

#include "dataplane/endpoint/endpoint_core.h"

namespace openlapi {

// All data of a message is where it belongs. For fences it has arrived; its counters may have to wait for a handler.
inline void EndpointCore::data_in_place(Peer* from, std::uint64_t number, const CompletionRun& run,
                                        CompletionStyle style, std::uint64_t data_bytes) {
  ++receives_completed_;
  MessageStatistics& statistics =
      from != nullptr ? statistics_of(*from) : statistics_[static_cast<std::size_t>(StatisticsPath::local)];
  statistics.data_received += data_bytes;
  if (from != nullptr) message_finished(*from, number);
  if (run.handler != nullptr) return run_completion(from, run, style);
  move_counters(run);
}

inline void EndpointCore::move_counters(const CompletionRun& run) {
  move_counter(run.target_counter, run.source);
  if (run.completion_counter != 0) update_completion_counter(run);
}

}  // namespace openlapi
