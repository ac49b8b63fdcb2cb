#include "dataplane/reliability/congestion.h"

#include <algorithm>

#include "dataplane/tuning.h"

namespace openlapi {

Congestion::Congestion(std::uint32_t max_packet, std::uint64_t most_bytes)
    : max_packet_(max_packet), most_(std::max<std::uint64_t>(most_bytes, max_packet)) {
  const std::uint64_t few = std::uint64_t{tuning::kFewestPacketsInFlight} * max_packet;
  least_ = std::max<std::uint64_t>(std::min(few, tuning::kFewestBytesInFlight), max_packet);
  // Of little that may be in flight only so much: a peer that was away finds all that was sent again beside the first.
  least_ = std::min(least_, std::max<std::uint64_t>(most_ / tuning::kFewestPartOfMost, max_packet));
  window_ = std::clamp(tuning::kFirstBytesInFlight, least_, most_);
  threshold_ = most_;
}

bool Congestion::on_acknowledged(std::uint64_t bytes, std::uint64_t in_flight) {
  if (in_flight < window_ / 2) return false;
  if (window_ < threshold_) {
    window_ += bytes;
  } else {
    window_before_ = 0;
    acknowledged_ += bytes;
    if (acknowledged_ < window_) return false;
    acknowledged_ -= window_;
    window_ += max_packet_;
  }
  window_ = std::min(window_, most_);
  return true;
}

void Congestion::remember() {
  window_before_ = window_;
  threshold_before_ = threshold_;
  acknowledged_ = 0;
}

void Congestion::on_loss() {
  remember();
  threshold_ = std::max(window_ / 2, least_);
  window_ = threshold_;
}

void Congestion::on_timeout() {
  if (window_ > least_) remember();
  threshold_ = std::max(window_ / 2, least_);
  window_ = least_;
}

void Congestion::on_spurious_retransmission() {
  if (window_before_ == 0) return;
  window_ = std::max(window_, window_before_);
  threshold_ = std::max(threshold_, threshold_before_);
  window_before_ = 0;
}

}  // namespace openlapi
