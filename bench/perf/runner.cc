#include "bench/perf/runner.h"

#include <unistd.h>

#include <algorithm>

namespace openlapi::bench {
namespace {

constexpr unsigned kSlices = 20;
constexpr unsigned kQuickSlices = 6;
constexpr unsigned kRateSlices = 10;
constexpr double kSlice = 5e6;  // nanoseconds of floor or library at a time
constexpr double kQuickSlice = 2e6;
// A run of perftest takes a good part of a second, and a machine whose adapters are made of software stalls for 10 ms.
constexpr unsigned kVerbsSlices = 5;
constexpr unsigned kQuickVerbsSlices = 3;
constexpr double kVerbsSlice = 4e8;

// Whether the floor is another program's.
bool has_foreign_floor(Wire wire) { return wire == Wire::verbs || wire == Wire::dpdk; }

constexpr unsigned kFlagIterations = 400;
constexpr unsigned kRepeatsOfRow = 2;
constexpr unsigned kRepeats = 8;  // of all rows together: a machine may never come back to the state it began in
constexpr unsigned kSettle = 50;  // milliseconds that a dataplane thread has to fall asleep

}  // namespace

Runner::Runner(Workbench& bench, const Options& options, const FlagBounds& bounds)
    : bench_(bench),
      bounds_(bounds),
      slices_(has_foreign_floor(bench.wire) ? (options.quick ? kQuickVerbsSlices : kVerbsSlices)
                                            : (options.quick ? kQuickSlices : kSlices)),
      slice_(has_foreign_floor(bench.wire) ? kVerbsSlice
             : options.quick               ? kQuickSlice
                                           : kSlice),
      fixed_iterations_(options.iterations),
      repeats_left_(options.quick ? 2 : kRepeats) {}

// In interrupt mode our dataplane thread may still spin on this core: a floor would share it.
void Runner::quiet() {
  if (bench_.mode == Mode::interrupt) wait_until_asleep(getpid(), gettid(), kSettle);
  bench_.region.barrier();
}

// Iterations that fill a slice. Doing them warms up caches, pages and connections.
std::uint64_t Runner::calibrate(const Work& work, std::uint64_t fewest) {
  std::uint64_t iterations = fewest;
  for (int attempt = 0; attempt < 12; ++attempt) {
    quiet();
    const std::uint64_t start = monotonic_nanoseconds();
    work(iterations, nullptr);
    bench_.region.barrier();
    const double taken = std::max(1.0, static_cast<double>(monotonic_nanoseconds() - start));
    const bool enough = bench_.region.agree(taken >= slice_ / 4) != 0;
    const double fitting = static_cast<double>(iterations) * slice_ / taken;
    const double next = enough ? fitting : std::min(fitting, static_cast<double>(iterations) * 8);
    iterations = bench_.region.agree(std::max(fewest, static_cast<std::uint64_t>(next)));
    if (enough) break;
  }
  return iterations;
}

void Runner::measure(const Case& row, Row& result) {
  const unsigned slices = row.is_rate ? std::min(slices_, kRateSlices) : slices_;
  const std::uint64_t start = monotonic_nanoseconds();
  std::uint64_t floor_iterations = row.floor ? calibrate(row.floor, row.fewest) : 0;
  std::uint64_t library_iterations = calibrate(row.library, row.fewest);
  if (fixed_iterations_ != 0) {
    library_iterations = floor_iterations = std::max<std::uint64_t>(1, fixed_iterations_ / slices);
  }
  std::vector<Slice> turns;
  Samples flags;
  const auto is_over = [&] { return row_is_over(turns.size(), slices, monotonic_nanoseconds() - start); };
  while (bench_.region.agree(is_over() ? 1 : 0) == 0) {
    Slice& turn = turns.emplace_back();
    quiet();
    if (bench_.wire == Wire::shm) bench_.memory.flag(kFlagIterations, 2, &flags);
    if (row.floor) row.floor(floor_iterations, &turn.floor);
    bench_.region.barrier();
    row.library(library_iterations, &turn.library);
    bench_.region.barrier();
  }
  result.figures = compare(turns);
  result.flag = median(std::move(flags));
}

Row Runner::run(const Case& row) {
  Row result{.wire = bench_.wire,
             .operation = row.operation,
             .variant = row.variant,
             .size = row.size,
             .floor_name = row.floor_name,
             .figures = {},
             .bytes = row.bytes,
             .is_rate = row.is_rate};
  for (;; ++result.repeats, --repeats_left_) {
    measure(row, result);
    const bool unusual = bench_.wire == Wire::shm && !bounds_.hold(result.flag);
    result.unusual = bench_.region.agree(unusual ? 1 : 0) != 0;
    if (!result.unusual || result.repeats == kRepeatsOfRow || repeats_left_ == 0) return result;
  }
}

}  // namespace openlapi::bench
