#include "dataplane/reliability/delivery_rate.h"

#include <algorithm>

#include "dataplane/tuning.h"

namespace openlapi {

std::uint64_t DeliveryRate::per_second(std::uint64_t bytes, Nanoseconds time) {
  return bytes * (kSecond / kMicrosecond) / std::max<Nanoseconds>(time / kMicrosecond, 1);
}

bool DeliveryRate::acknowledged(std::uint64_t bytes, std::uint64_t in_flight, bool limited, bool idle,
                                Nanoseconds now) {
  if (awaited_ == 0) {
    awaited_ = in_flight;
    limited_ = limited;
  }
  bytes_ += bytes;
  if (bytes_ < awaited_ && !idle) return false;
  const std::uint64_t before = rate_;
  take(per_second(bytes_, now - since_), limited_, now);
  begin(now);
  return rate_ != before;
}

void DeliveryRate::take(std::uint64_t sample, bool limited, Nanoseconds now) {
  if (limited) {
    best_ = std::max(best_, sample);
    ++limited_samples_;
  }
  if (rate_ == 0) {
    if (!limited) return;
    rate_ = sample;
  } else if (sample > rate_) {
    rate_ += std::min(sample - rate_, rate_ / 4 + 1);
  }
  if (limited_samples_ == tuning::kRateSamples) {
    rate_ -= (rate_ - std::min(rate_, best_)) / 2;
    limited_samples_ = 0;
    best_ = 0;
  }
  rate_ = std::max<std::uint64_t>(rate_, 1);
  taken_at_ = now;
}

bool DeliveryRate::queued(std::uint64_t in_flight, Nanoseconds round_trip) {
  const std::uint64_t brought = per_second(in_flight, round_trip);
  const std::uint64_t most = brought + brought / 4 + 1;
  if (rate_ <= most) return false;
  rate_ = most;
  return true;
}

bool DeliveryRate::forget_if_old(std::uint64_t bytes, Nanoseconds now) {
  const Nanoseconds age = now - taken_at_;
  if (rate_ == 0 || age <= tuning::kShortestRateAge || age / tuning::kRateAgePart <= time_for(bytes)) return false;
  rate_ = 0;
  return true;
}

}  // namespace openlapi
