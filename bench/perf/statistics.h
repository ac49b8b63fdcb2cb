// From samples to the figures of a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/perf/stopwatch.h"

namespace openlapi::bench {

// The value below which `share` (0 .. 1) of the samples lie; 0 without samples. Nearest rank.
double percentile(Samples samples, double share);
double median(Samples samples);

// One turn of floor and library, one directly after the other.
struct Slice {
  Samples floor;
  Samples library;
};

struct Comparison {
  double median = 0;  // nanoseconds, of all samples of the library
  double p99 = 0;
  double floor = 0;       // median of all samples of the floor; 0: there is none
  double ratio = 0;       // median over the slices of library / floor, each a median: neighbours in time are compared,
  double difference = 0;  // so a machine that changes its state during the row does not matter. Library - floor.
  std::size_t samples = 0;
};

Comparison compare(const std::vector<Slice>& slices);

// A row ends after `wanted` slices; one that takes long, as those of very large messages do, after as few as can be
// compared. `taken`: nanoseconds since it began.
bool row_is_over(std::size_t slices, std::size_t wanted, std::uint64_t taken);

}  // namespace openlapi::bench
