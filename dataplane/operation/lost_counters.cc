#include "dataplane/operation/lost_counters.h"

#include <algorithm>

namespace openlapi {

namespace {

constexpr std::size_t kSettledBeforeMoving = 64;

}  // namespace

bool OwedCounters::settle(std::uint64_t counter) {
  const auto begin = counters_.begin() + static_cast<std::ptrdiff_t>(first_);
  const auto found = std::find(begin, counters_.end(), counter);
  if (counter == 0 || found == counters_.end()) return false;
  *found = 0;
  if (found == begin) drop_settled();
  return true;
}

// Moves the rest to the front when at least as much was settled, so each entry is moved once on average.
void OwedCounters::drop_settled() {
  while (first_ < counters_.size() && counters_[first_] == 0) ++first_;
  if (first_ == counters_.size()) {
    counters_.clear();
    first_ = 0;
  } else if (first_ >= kSettledBeforeMoving && 2 * first_ >= counters_.size()) {
    counters_.erase(counters_.begin(), counters_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
}

}  // namespace openlapi
