#include "dataplane/reliability/path_state.h"

#include <algorithm>
#include <bit>

#include "dataplane/tuning.h"

namespace openlapi {

void PathStates::serve(std::uint32_t paths, unsigned best) {
  if (paths == serving_ && best == best_) return;
  serving_ = paths;
  best_ = best;
  several_ = std::popcount(paths) > 1;
  share_out();
}

void PathStates::on_spurious_retransmission() {
  first_.congestion.on_spurious_retransmission();
  for (PathState& other : others_) other.congestion.on_spurious_retransmission();
  share_out();
}

void PathStates::measure_rates(const SendWindow& window, Nanoseconds now) {
  bool changed = false;
  for (std::uint32_t told = window.told(); told != 0; told &= told - 1)
    changed |= measure_rate(static_cast<unsigned>(std::countr_zero(told)), window, now);
  if (window.outstanding_bytes() >= tuning::kStripeFrom) changed |= forget_old_rates(window, now);
  if (changed) share_out();
}

inline bool PathStates::measure_rate(unsigned number, const SendWindow& window, Nanoseconds now) {
  PathState& path = (*this)[number];
  const PathNews& news = window.news(number);
  bool changed = false;
  if (news.round_trip != 0) changed = path.shortest_round_trip.sampled(path.round_trip, news.round_trip, now);
  if (news.bytes == 0) return changed;
  const bool idle = window.in_flight_bytes(number) == 0;
  // Of one packet alone, where there was room for more, the round trip tells all, and the next one begins anew.
  const bool alone = idle && news.in_flight <= max_packet_ && news.in_flight + max_packet_ <= this->window(number);
  if (alone && path.took_all && !path.rate.is_in_sample()) {
    path.rate.is_used(now);
    return changed;
  }
  return sample_rate(number, window, now) || changed;
}

bool PathStates::sample_rate(unsigned number, const SendWindow& window, Nanoseconds now) {
  PathState& path = (*this)[number];
  const PathNews& news = window.news(number);
  const bool idle = window.in_flight_bytes(number) == 0;
  // A short message that a late peer answers tells nothing.
  const bool queued = news.in_flight >= tuning::kUnknownPathQueue &&
                      news.round_trip > 2 * path.round_trip.shortest() + tuning::kPathQueue / 4;
  const bool limited = queued || !path.took_all || news.in_flight + max_packet_ > this->window(number);
  const Nanoseconds longest = path.round_trip.shortest() + 2 * tuning::kPathQueue;
  const bool changed = path.gathered.acknowledged(news.bytes, path.rate, now);
  return path.rate.acknowledged({news.bytes, news.in_flight, limited, idle, longest}, now) || changed;
}

// There is much to send, and paths that serve carry nothing of it.
bool PathStates::forget_old_rates(const SendWindow& window, Nanoseconds now) {
  bool changed = false;
  for (std::uint32_t paths = serving_; paths != 0; paths &= paths - 1) {
    const auto number = static_cast<unsigned>(std::countr_zero(paths));
    const bool told = (window.told() >> number & 1) != 0 && window.news(number).bytes != 0;
    if (told || window.in_flight_bytes(number) != 0) continue;
    changed |= (*this)[number].rate.forget_if_old(tuning::kUnknownPathQueue, now);
  }
  return changed;
}

void PathStates::share_out_among_several() {
  room_ = 0;
  for (std::uint32_t paths = serving_; paths != 0; paths &= paths - 1) {
    const auto number = static_cast<unsigned>(std::countr_zero(paths));
    PathState& path = (*this)[number];
    path.share = std::min(share_of(number), path.congestion.window());
    room_ += path.share;
  }
}

std::uint64_t PathStates::share_of(unsigned number) const {
  const PathState& path = (*this)[number];
  const std::uint64_t few = 2 * max_packet_;
  if (path.shortest_round_trip.is_looked_for()) return std::max(path.rate.bytes_in(path.round_trip.shortest()), few);
  const std::uint64_t least = number == best_ ? tuning::kStripeFrom : few;
  if (path.rate.bytes_per_second() == 0) return std::max(tuning::kUnknownPathQueue, least);
  // Not less than it has now, or who waits for a peer without a core would send less and less.
  const Nanoseconds shortest = path.round_trip.shortest() + tuning::kPathQueue;
  const Nanoseconds time = std::clamp(path.round_trip.smoothed(), shortest, shortest + tuning::kPathQueue);
  return std::max(path.rate.bytes_in(time) + path.gathered.most(), least);
}

// When one packet more would arrive over the path; also where it has to wait until the path may have more in flight.
Nanoseconds PathStates::arrival_over(unsigned number, const SendWindow& window) const {
  const PathState& path = (*this)[number];
  return path.round_trip.shortest() / 2 + path.rate.time_for(window.in_flight_bytes(number) + max_packet_);
}

unsigned PathStates::earliest_of_all(const SendWindow& window, std::uint32_t without) const {
  const std::uint32_t candidates = serving_ & ~without;
  const bool takes_best = (candidates >> best_ & 1) != 0;
  unsigned first = kNone;
  Nanoseconds soonest = UINT64_MAX;
  for (std::uint32_t paths = candidates; paths != 0; paths &= paths - 1) {
    const auto number = static_cast<unsigned>(std::countr_zero(paths));
    const Nanoseconds arrival = arrival_over(number, window);
    // How long a full one would have to be waited for is not known before it is measured.
    const PathState& path = (*this)[number];
    const bool is_measured = path.rate.bytes_per_second() != 0 && !path.shortest_round_trip.is_looked_for();
    if (arrival >= soonest || (!is_measured && !has_room(number, window))) continue;
    soonest = arrival;
    first = number;
  }
  if (first != kNone && has_room(first, window)) return first;
  return takes_best && window.oldest_is_lost() ? best_ : kNone;
}

unsigned PathStates::quickest() const {
  unsigned first = best_;
  for (std::uint32_t paths = serving_; paths != 0; paths &= paths - 1) {
    const auto number = static_cast<unsigned>(std::countr_zero(paths));
    const Nanoseconds round_trip = (*this)[number].round_trip.shortest();
    if (round_trip != 0 && round_trip < (*this)[first].round_trip.shortest() * 3 / 4) first = number;
  }
  return first;
}

std::size_t PathStates::packets_in_turn(unsigned path, const SendWindow& window) const {
  if (window.outstanding_bytes() < tuning::kStripeFrom) return tuning::kSendBurst;
  const std::uint64_t bytes = (*this)[path].rate.bytes_in(tuning::kStripeTime);
  return std::clamp<std::size_t>(bytes / max_packet_, 2, tuning::kSendBurst);
}

}  // namespace openlapi
