// The clock of every figure, the same for floor and library.
//
// Latencies here begin at 100 ns, so the clock itself must not show. On x86 it is the time-stamp counter (9 ns; a
// system clock takes 20), read without a fence: what is timed ends with a load that a branch waits for, and one read
// both ends a sample and begins the next. In time_batches() a sample is the mean of `batch` operations; a batch of 4
// leaves about 1 ns of the clock in a half round trip, which is the same in the floor, and percentiles still show
// single disturbances. Other processors use CLOCK_MONOTONIC.
#pragma once

#include <time.h>

#include <cstdint>
#include <vector>

namespace openlapi::bench {

using Samples = std::vector<double>;  // nanoseconds

inline std::uint64_t monotonic_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return monotonic_nanoseconds();
#endif
}

// Measured once, against the system's clock (takes 20 ms).
double nanoseconds_per_tick();

// What the clock is called in reports.
const char* clock_name();

// Calls `operation` `iterations` times (rounded up to whole batches) and adds one sample for each batch, in nanoseconds
// per operation divided by `parts` (2: half round trips). Without `samples` it only does the work.
template <class Operation>
void time_batches(std::uint64_t iterations, unsigned batch, double parts, Samples* samples, Operation&& operation) {
  const double scale = nanoseconds_per_tick() / (static_cast<double>(batch) * parts);
  const std::uint64_t batches = (iterations + batch - 1) / batch;
  if (samples != nullptr) samples->reserve(samples->size() + batches);
  std::uint64_t start = ticks();
  for (std::uint64_t i = 0; i < batches; ++i) {
    for (unsigned k = 0; k < batch; ++k) operation();
    const std::uint64_t end = ticks();
    if (samples != nullptr) samples->push_back(static_cast<double>(end - start) * scale);
    start = end;
  }
}

// The same for operations that have phases which are not timed: `operation` returns its ticks.
template <class Operation>
void time_each(std::uint64_t iterations, double parts, Samples* samples, Operation&& operation) {
  const double scale = nanoseconds_per_tick() / parts;
  for (std::uint64_t i = 0; i < iterations; ++i) {
    const std::uint64_t taken = operation();
    if (samples != nullptr) samples->push_back(static_cast<double>(taken) * scale);
  }
}

}  // namespace openlapi::bench
