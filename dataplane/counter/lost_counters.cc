#include "dataplane/counter/lost_counters.h"

#include <algorithm>

namespace openlapi {

namespace {

constexpr std::size_t kSettledBeforeMoving = 64;

}  // namespace

bool OwedCounters::settle(std::uint64_t counter) {
  if (counter == 0) return false;
  const auto from = counters_.begin() + static_cast<std::ptrdiff_t>(next_);
  auto found = std::find(from, counters_.end(), counter);
  if (found == counters_.end()) {
    found = std::find(counters_.begin(), from, counter);
    if (found == from) return false;
  }
  *found = 0;
  next_ = static_cast<std::size_t>(found - counters_.begin()) + 1;
  --size_;
  drop_settled();
  return true;
}

// When more than half are settled: each is moved once on average.
void OwedCounters::drop_settled() {
  if (size_ == 0) {
    counters_.clear();
    next_ = 0;
  } else if (counters_.size() >= kSettledBeforeMoving && counters_.size() > 2 * size_) {
    const auto from = counters_.begin() + static_cast<std::ptrdiff_t>(next_);
    next_ -= static_cast<std::size_t>(std::count(counters_.begin(), from, std::uint64_t{0}));
    std::erase(counters_, std::uint64_t{0});
  }
}

}  // namespace openlapi
