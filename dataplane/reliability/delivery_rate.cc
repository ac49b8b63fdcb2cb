#include "dataplane/reliability/delivery_rate.h"

#include <algorithm>
#include <utility>

#include "dataplane/tuning.h"

namespace openlapi {

std::uint64_t DeliveryRate::per_second(std::uint64_t bytes, Nanoseconds time) {
  return bytes * (kSecond / kMicrosecond) / std::max<Nanoseconds>(time / kMicrosecond, 1);
}

bool DeliveryRate::acknowledged(const News& news, Nanoseconds now) {
  if (since_ == 0) return false;
  if (awaited_ == 0) {
    awaited_ = news.in_flight;
    limited_ = news.limited;
  }
  bytes_ += news.bytes;
  const Nanoseconds time = std::max<Nanoseconds>(now - since_, kMicrosecond);
  if (bytes_ < awaited_ && !news.idle && time < news.longest) return false;
  const std::uint64_t before = rate_;
  // A short message that a late peer answers tells nothing.
  take(bytes_, time, limited_ || (time >= news.longest && awaited_ >= tuning::kUnknownPathQueue));
  if (rate_ != 0) taken_at_ = now;
  begin(now);
  return rate_ != before;
}

void DeliveryRate::take(std::uint64_t bytes, Nanoseconds time, bool limited) {
  const std::uint64_t sample = per_second(bytes, time);
  if (!limited && (rate_ == 0 || sample <= rate_)) return;
  if (rate_ == 0) {
    trust_ = sample > 2 * forgotten_ ? tuning::kFirstRateTrust : std::min(2 * trust_, tuning::kMostRateTrust);
    all_bytes_ = bytes;
    all_time_ = time;
    rate_ = std::max<std::uint64_t>(sample, 1);
    return;
  }
  all_bytes_ += bytes;
  all_time_ += time;
  // A shaped link has tokens to spend after a pause: it brings more for a while.
  const std::uint64_t most = rate_ + rate_ / 4 + 1;
  rate_ = std::clamp<std::uint64_t>(per_second(all_bytes_, all_time_), 1, most);
  if (rate_ == most) all_bytes_ = rate_ * (all_time_ / kMicrosecond) / (kSecond / kMicrosecond);
  if (all_time_ < tuning::kRateMemory) return;
  all_bytes_ /= 2;
  all_time_ /= 2;
}

bool DeliveryRate::forget_if_old(std::uint64_t bytes, Nanoseconds now) {
  const Nanoseconds age = now - taken_at_;
  if (rate_ == 0 || age <= tuning::kShortestRateAge || age / trust_ <= time_for(bytes)) return false;
  forgotten_ = std::exchange(rate_, 0);
  return true;
}

}  // namespace openlapi
