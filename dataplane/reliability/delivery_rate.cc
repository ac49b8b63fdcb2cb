#include "dataplane/reliability/delivery_rate.h"

#include <algorithm>

#include "dataplane/tuning.h"

namespace openlapi {

// The first acknowledgement of a busy time only begins an interval: when what it names has left is not known here.
void DeliveryRate::acknowledged(std::uint64_t bytes, bool limited, bool more, Nanoseconds shortest, Nanoseconds now) {
  if (since_ != 0) {
    bytes_ += bytes;
    limited_ = limited_ && limited;
    const Nanoseconds elapsed = now - since_;
    if (more && elapsed < std::max(shortest, tuning::kShortestRateInterval)) return;
    if (elapsed >= tuning::kShortestRateInterval) {
      take(bytes_ * (kSecond / kMicrosecond) / (elapsed / kMicrosecond), limited_, now);
    }
  }
  since_ = more ? now : 0;
  bytes_ = 0;
  limited_ = true;
}

void DeliveryRate::take(std::uint64_t sample, bool limited, Nanoseconds now) {
  if (rate_ == 0) {
    if (!limited) return;
    rate_ = sample;
  } else if (sample > rate_) {
    rate_ += std::min(sample - rate_, rate_ / 4);
  } else if (limited) {
    rate_ -= (rate_ - sample) / 4;
  }
  rate_ = std::max<std::uint64_t>(rate_, 1);
  taken_at_ = now;
}

void DeliveryRate::queued(std::uint64_t in_flight, Nanoseconds round_trip) {
  const std::uint64_t brought =
      in_flight * (kSecond / kMicrosecond) / std::max<Nanoseconds>(round_trip / kMicrosecond, 1);
  rate_ = std::min(rate_, brought + brought / 4 + 1);
}

void DeliveryRate::forget_if_old(std::uint64_t bytes, Nanoseconds now) {
  const Nanoseconds age = now - taken_at_;
  if (age > tuning::kShortestRateAge && age / tuning::kRateAgePart > time_for(bytes)) rate_ = 0;
}

}  // namespace openlapi
