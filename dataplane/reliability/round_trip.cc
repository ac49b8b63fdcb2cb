#include "dataplane/reliability/round_trip.h"

namespace openlapi {

void RoundTrip::sample(Nanoseconds measured) {
  measured = latest_ = std::max<Nanoseconds>(measured, 1);
  if (smoothed_ == 0) {
    shortest_ = smoothed_ = measured;
    variation_ = measured / 2;
  } else {
    shortest_ = std::min(shortest_, measured);
    const Nanoseconds difference = smoothed_ > measured ? smoothed_ - measured : measured - smoothed_;
    variation_ = (3 * variation_ + difference) / 4;
    smoothed_ = std::max<Nanoseconds>((7 * smoothed_ + measured) / 8, 1);
  }
  timeout_ =
      std::clamp(smoothed_ + 4 * variation_, tuning::kShortestRetransmitTimeout, tuning::kLongestRetransmitTimeout);
}

void RoundTrip::back_off() {
  if (timeout() < tuning::kLongestRetransmitTimeout) ++back_offs_;
}

}  // namespace openlapi
