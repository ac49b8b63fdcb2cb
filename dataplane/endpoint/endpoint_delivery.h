// What every message that moves data passes through when it leaves as one record, and ends with, inline for those whose
// whole work is little more.
#pragma once

#include "dataplane/endpoint/endpoint_core.h"

namespace openlapi {

inline Submit EndpointCore::submit_single(Peer& peer, Pieces pieces, std::uint32_t length, std::uint64_t data,
                                          const OriginNotice& notice) {
  if (!peer.backlog.empty() || !send_record(peer, pieces, length)) [[unlikely]] {
    if (copies_exhausted(peer)) return Submit::busy;
    queue_record(peer, pieces, length, true);
  }
  ++peer.messages_sent;
  move_counter(notice.counter, peer.index);
  count_sent(peer, data);
  if (notice.handler.function != nullptr) [[unlikely]]
    keep_send_handler(peer.index, notice.handler);
  return Submit::accepted;
}

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
