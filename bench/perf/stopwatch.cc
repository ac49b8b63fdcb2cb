#include "bench/perf/stopwatch.h"

namespace openlapi::bench {
namespace {

double calibrate() {
#if defined(__x86_64__)
  constexpr std::uint64_t kSpan = 20'000'000;
  const std::uint64_t start = monotonic_nanoseconds();
  const std::uint64_t first = ticks();
  std::uint64_t now = start;
  while (now - start < kSpan) now = monotonic_nanoseconds();
  return static_cast<double>(now - start) / static_cast<double>(ticks() - first);
#else
  return 1.0;
#endif
}

}  // namespace

double nanoseconds_per_tick() {
  static const double value = calibrate();
  return value;
}

const char* clock_name() {
#if defined(__x86_64__)
  return "time-stamp counter";
#else
  return "CLOCK_MONOTONIC";
#endif
}

}  // namespace openlapi::bench
