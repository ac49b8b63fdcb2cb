#include "bench/perf/pairs.h"

#include <cstdio>
#include <vector>

#include "bench/perf/lapi_job.h"
#include "bench/perf/statistics.h"

namespace openlapi::bench {
namespace {

constexpr std::size_t kLength = 8;
constexpr double kTime = 1e9;  // nanoseconds of measuring; a fifth with --quick

void put(LapiJob& job) {
  job.context().put(job.peer_target(), {job.source(), kLength}, {.target = job.peer_arrived()});
}

struct PairFigures {
  double mean = 0;  // nanoseconds of a half round trip, all of the time counted
  double middle = 0;
  double p99 = 0;
};

// The first task of a pair decides when it is over: the last message carries a one.
PairFigures ping_pong(LapiJob& job, bool first, double time) {
  auto& sent = *reinterpret_cast<volatile std::uint64_t*>(job.source());
  auto& received = *reinterpret_cast<volatile std::uint64_t*>(job.target());
  sent = 0;
  Samples samples;
  const std::uint64_t start = monotonic_nanoseconds();
  double elapsed = 0;
  while (true) {
    if (first) {
      const std::uint64_t before = ticks();
      const bool last = elapsed >= time;
      sent = last ? 1 : 0;
      put(job);
      job.wait(job.window().arrived);
      samples.push_back(static_cast<double>(ticks() - before) * nanoseconds_per_tick() / 2);
      elapsed = static_cast<double>(monotonic_nanoseconds() - start);
      if (last) break;
    } else {
      job.wait(job.window().arrived);
      const bool last = received != 0;
      put(job);
      if (last) break;
    }
  }
  if (!first) return {};
  return {elapsed / static_cast<double>(samples.size()) / 2, median(samples), percentile(samples, 0.99)};
}

void print_pairs(LapiJob& job, const Options& options, Wire wire, const std::vector<lapi_long_t> (&figures)[3]) {
  std::printf("%s, %s mode, %d tasks in pairs, put of %zu bytes, half round trip, us\n", name_of(wire),
              name_of(options.mode), job.tasks(), kLength);
  std::printf("%-10s %10s %10s %10s\n", "tasks", "mean", "median", "p99");
  for (int task = 0; task < job.tasks(); ++task) {
    const int partner = partner_of(task, job.tasks(), options.pairs);
    if (task > partner) continue;
    const auto index = static_cast<std::size_t>(task);
    std::printf("%3d - %-4d %10.3f %10.3f %10.3f\n", task, partner, static_cast<double>(figures[0][index]) / 1e6,
                static_cast<double>(figures[1][index]) / 1e6, static_cast<double>(figures[2][index]) / 1e6);
  }
  std::fflush(stdout);
}

}  // namespace

int partner_of(int task, int tasks, PairPattern pattern) {
  if (tasks < 2 || tasks % 2 != 0) return -1;
  if (pattern == PairPattern::adjacent) return task ^ 1;
  const int half = tasks / 2;
  return task < half ? task + half : task - half;
}

int run_pairs(const Options& options) {
  for (const Wire wire : options.wires) {
    LapiJob job(wire, options.mode, 4096);
    const int partner = partner_of(job.task(), job.tasks(), options.pairs);
    if (partner < 0) {
      if (job.task() == 0)
        std::fprintf(stderr, "lapi_perf: --pairs needs an even number of tasks, not %d\n", job.tasks());
      job.fence_all();  // the first task to end has the others ended
      return 2;
    }
    job.exchange_addresses(static_cast<unsigned>(partner));
    job.fence_all();
    const PairFigures mine = ping_pong(job, job.task() < partner, options.quick ? kTime / 5 : kTime);
    job.fence_all();
    std::vector<lapi_long_t> figures[3];  // picoseconds: the exchange moves whole numbers
    const double values[3] = {mine.mean, mine.middle, mine.p99};
    for (int i = 0; i < 3; ++i) {
      figures[i] = job.context().exchange(static_cast<lapi_long_t>(values[i] * 1000));
    }
    if (job.task() == 0) print_pairs(job, options, wire, figures);
  }
  return 0;
}

}  // namespace openlapi::bench
