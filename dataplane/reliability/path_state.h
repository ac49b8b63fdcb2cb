// What a channel knows of one of its paths, and when it looks after what it has sent there.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "dataplane/base/clock.h"
#include "dataplane/reliability/congestion.h"
#include "dataplane/reliability/delivery_rate.h"
#include "dataplane/reliability/gathered_answers.h"
#include "dataplane/reliability/path_flight.h"
#include "dataplane/reliability/round_trip.h"
#include "dataplane/reliability/send_window.h"
#include "dataplane/reliability/shortest_round_trip.h"
#include "dataplane/tuning.h"

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
  ShortestRoundTrip shortest_round_trip;  // looked after when there are more paths
  Congestion congestion;
  DeliveryRate rate;  // measured when there are more paths; likewise
  GatheredAnswers gathered;
  std::uint64_t share = 0;                // bytes that may be in flight while other paths carry as well
  bool took_all = true;                   // the transport, the last time
  std::uint64_t bytes_since_request = 0;  // sent since an acknowledgement was asked for
  Nanoseconds retransmit_at = UINT64_MAX;
  Nanoseconds recheck_at = UINT64_MAX;  // when an overtaken packet counts as lost
  bool takes_nothing = false;           // nothing is in flight, and the transport was full since the timer began
  bool timed_out = false;               // since the timer last began anew: the window was cut for it
};

// Of all paths of a channel, by number, and how these share what is to be sent. Most channels have one, which needs no
// memory of its own.
class PathStates {
 public:
  PathStates(std::uint32_t max_packet, std::uint64_t most_bytes)
      : max_packet_(max_packet), most_bytes_(most_bytes), first_(fresh()), room_(first_.congestion.window()) {}

  PathState& operator[](unsigned path) { return path == 0 ? first_ : others_[path - 1]; }
  const PathState& operator[](unsigned path) const { return path == 0 ? first_ : others_[path - 1]; }
  void add() { others_.push_back(fresh()); }
  // Nothing is known of any path any more.
  void reset() {
    first_ = fresh();
    for (PathState& other : others_) other = fresh();
    share_out();
  }
  void stop_timers() {
    first_.stop_timers();
    for (PathState& other : others_) other.stop_timers();
  }
  // The paths, as bits, that carry together when there is much to send; else it is `best`, one of them.
  void serve(std::uint32_t paths, unsigned best);
  bool are_several() const { return several_; }
  // Packets are about to leave over the path.
  void departs(unsigned path, const SendWindow& window, Nanoseconds now) {
    if (window.paths() != 1 && window.in_flight_bytes(path) == 0) (*this)[path].rate.begin(now);
  }
  // The peer has had a packet before: no path is said to be the one that seemed to lose it.
  [[gnu::noinline, gnu::cold]] void on_spurious_retransmission();
  // Something was acknowledged. Also finds paths that are not used although there is much to send.
  void measure_rates(const SendWindow& window, Nanoseconds now);
  // What is known of them has changed: works out how much may be in flight.
  void share_out() {
    if (several_) return share_out_among_several();
    room_ = (*this)[best_].congestion.window();
  }
  // Bytes that may be in flight over the path, which carries,
  std::uint64_t window(unsigned path) const { return several_ ? (*this)[path].share : room_; }
  // and of all that is sent or waits to be.
  std::uint64_t room() const { return room_; }
  // The path over which one packet more would be at the peer first; kNone: it may not have more in flight now, and it
  // is better to wait for it. While there is little to send it is the best one, and the oldest packet of all, when it
  // was lost, waits for nothing. `without`: paths, as bits, that take nothing now.
  static constexpr unsigned kNone = UINT32_MAX;
  [[gnu::always_inline]] unsigned earliest(const SendWindow& window, std::uint32_t without) const {
    if (window.outstanding_bytes() < tuning::kStripeFrom && ((serving_ & ~without) >> best_ & 1) != 0 &&
        has_room(best_, window)) [[likely]]
      return best_;
    return earliest_of_all(window, without);
  }
  unsigned best() const { return best_; }
  // The one with the shortest round trip: the best one unless another one's is a good deal shorter.
  unsigned quickest() const;
  // How many packets leave over the path before another one is chosen.
  std::size_t packets_in_turn(unsigned path, const SendWindow& window) const;

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
  PathState fresh() const { return {max_packet_, most_bytes_}; }
  bool has_room(unsigned path, const SendWindow& window) const {
    return window.in_flight_bytes(path) < (*this)[path].share;
  }
  bool measure_rate(unsigned number, const SendWindow& window, Nanoseconds now);
  [[gnu::noinline]] bool sample_rate(unsigned number, const SendWindow& window, Nanoseconds now);
  [[gnu::noinline]] bool forget_old_rates(const SendWindow& window, Nanoseconds now);
  [[gnu::noinline]] unsigned earliest_of_all(const SendWindow& window, std::uint32_t without) const;
  void share_out_among_several();
  std::uint64_t share_of(unsigned number) const;
  Nanoseconds arrival_over(unsigned number, const SendWindow& window) const;

  const std::uint32_t max_packet_;
  const std::uint64_t most_bytes_;
  PathState first_;
  std::vector<PathState> others_;  // 1, 2, ...
  std::uint32_t carriers_ = 0;
  std::uint32_t serving_ = 1;
  unsigned best_ = 0;
  bool several_ = false;    // serve more than one
  std::uint64_t room_;      // the sum of their shares, or the only one's window
};

}  // namespace openlapi
