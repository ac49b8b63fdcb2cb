// What a channel knows of one of its paths, and when it looks after what it has sent there.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "dataplane/base/clock.h"
#include "dataplane/reliability/congestion.h"
#include "dataplane/reliability/path_flight.h"
#include "dataplane/reliability/round_trip.h"

namespace openlapi {

struct PathState {
  PathState(std::uint32_t max_packet, std::uint64_t most_bytes) : congestion(max_packet, most_bytes) {}

  PathTiming timing() const { return {round_trip.shortest(), round_trip.reorder_time(), round_trip.patience()}; }
  Nanoseconds deadline() const { return retransmit_at < recheck_at ? retransmit_at : recheck_at; }
  void stop_timers() {
    retransmit_at = recheck_at = UINT64_MAX;
    takes_nothing = false;
  }
  // A full transport is soon empty again. One that stays full, as where an adapter has stopped to empty its queue, is
  // as silent as one that loses everything.
  void transport_is_full(Nanoseconds now) {
    if (retransmit_at != UINT64_MAX) return;
    retransmit_at = now + round_trip.timeout();
    takes_nothing = true;
  }
  void transport_takes() {
    if (takes_nothing) stop_timers();
  }

  RoundTrip round_trip;
  Congestion congestion;
  std::uint64_t bytes_since_request = 0;  // sent since an acknowledgement was asked for
  Nanoseconds retransmit_at = UINT64_MAX;
  Nanoseconds recheck_at = UINT64_MAX;  // when an overtaken packet counts as lost
  bool takes_nothing = false;           // nothing is in flight, and the transport was full since the timer began
};

// Of all paths of a channel, by number. Most channels have one, which needs no memory of its own.
class PathStates {
 public:
  PathStates(std::uint32_t max_packet, std::uint64_t most_bytes) : fresh_(max_packet, most_bytes), first_(fresh_) {}

  PathState& operator[](unsigned path) { return path == 0 ? first_ : others_[path - 1]; }
  const PathState& operator[](unsigned path) const { return path == 0 ? first_ : others_[path - 1]; }
  void add() { others_.push_back(fresh_); }
  // Nothing is known of any path any more.
  void reset() {
    first_ = fresh_;
    for (PathState& other : others_) other = fresh_;
  }
  void stop_timers() {
    first_.stop_timers();
    for (PathState& other : others_) other.stop_timers();
  }
  // An acknowledgement has shown that the path carries data; the paths of which that is so since the last call, as
  // bits.
  void carries(unsigned path) { carriers_ |= 1u << path; }
  void carries_no_more(unsigned path) { carriers_ &= ~(1u << path); }
  std::uint32_t take_carriers() { return std::exchange(carriers_, 0); }
  Nanoseconds deadline() const {
    Nanoseconds earliest = first_.deadline();
    for (const PathState& other : others_) {
      if (other.deadline() < earliest) earliest = other.deadline();
    }
    return earliest;
  }

 private:
  PathState fresh_;
  PathState first_;
  std::vector<PathState> others_;  // 1, 2, ...
  std::uint32_t carriers_ = 0;
};

}  // namespace openlapi
