// How much of what a path brings is acknowledged together. A peer that computes between its calls answers to all that
// has come meanwhile at once, and so much has to be in flight besides what the path needs, or the path waits for it
// (what BBR calls aggregation of acknowledgements).
#pragma once

#include <algorithm>
#include <cstdint>

#include "dataplane/base/clock.h"
#include "dataplane/reliability/delivery_rate.h"
#include "dataplane/tuning.h"

namespace openlapi {

class GatheredAnswers {
 public:
  // True: the most has changed.
  bool acknowledged(std::uint64_t bytes, const DeliveryRate& rate, Nanoseconds now) {
    const std::uint64_t before = most();
    if (now - window_since_ >= tuning::kAnswersMemory) {
      former_most_ = now - window_since_ >= 2 * tuning::kAnswersMemory ? 0 : present_most_;
      present_most_ = 0;
      window_since_ = now;
    }
    const std::uint64_t brought = rate.bytes_in(std::min(now - latest_, kSecond));
    early_ -= std::min(early_, brought + brought / 4);  // a rate that is a little too low leaves nothing either
    // While nothing is known of the rate, nothing is early.
    early_ = rate.bytes_per_second() == 0 ? 0 : early_ + bytes;
    latest_ = now;
    present_most_ = std::max(present_most_, early_);
    return most() != before;
  }
  // Bytes, in the last while.
  std::uint64_t most() const { return std::max(former_most_, present_most_); }

 private:
  Nanoseconds latest_ = 0;
  std::uint64_t early_ = 0;  // acknowledged sooner than at the path's rate
  Nanoseconds window_since_ = 0;
  std::uint64_t present_most_ = 0;  // since then,
  std::uint64_t former_most_ = 0;   // and as long before
};

}  // namespace openlapi
