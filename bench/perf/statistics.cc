#include "bench/perf/statistics.h"

#include <algorithm>
#include <cmath>

namespace openlapi::bench {

double percentile(Samples samples, double share) {
  if (samples.empty()) return 0;
  const double rank = std::ceil(share * static_cast<double>(samples.size())) - 1;
  const auto index = static_cast<std::size_t>(std::clamp(rank, 0.0, static_cast<double>(samples.size() - 1)));
  const auto place = samples.begin() + static_cast<std::ptrdiff_t>(index);
  std::nth_element(samples.begin(), place, samples.end());
  return *place;
}

double median(Samples samples) { return percentile(std::move(samples), 0.5); }

Comparison compare(const std::vector<Slice>& slices) {
  Samples library, floor, ratios, differences;
  for (const Slice& slice : slices) {
    library.insert(library.end(), slice.library.begin(), slice.library.end());
    floor.insert(floor.end(), slice.floor.begin(), slice.floor.end());
    if (slice.floor.empty() || slice.library.empty()) continue;
    const double one = median(slice.library);
    const double other = median(slice.floor);
    if (other > 0) ratios.push_back(one / other);
    differences.push_back(one - other);
  }
  Comparison result;
  result.samples = library.size();
  result.p99 = percentile(library, 0.99);
  result.median = median(std::move(library));
  result.floor = median(std::move(floor));
  result.ratio = median(std::move(ratios));
  result.difference = median(std::move(differences));
  return result;
}

bool row_is_over(std::size_t slices, std::size_t wanted, std::uint64_t taken) {
  constexpr std::uint64_t kLongest = 10'000'000'000;
  constexpr std::size_t kFewest = 3;
  return slices >= wanted || (slices >= kFewest && taken > kLongest);
}

}  // namespace openlapi::bench
