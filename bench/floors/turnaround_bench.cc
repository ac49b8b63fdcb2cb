// What a bare flag costs when its reader works for a while before it answers: the floor below every library, whose
// messages are not answered by a single instruction. Two processes on two cores, one flag in a shared cache line, and a
// chain of multiplications between what comes and what goes.
//   turnaround_bench [seconds]
//
// Between distant cores (F near 0.18 us) the first 50 ns of work cost nothing, since the processor fetches the line for
// the coming store meanwhile. With 70 ns the other side, which polls, has taken the line back before the store is made,
// and the whole work and a second transfer show. The library's work on a message of 8 bytes lies there.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "bench/perf/shared_region.h"
#include "bench/perf/statistics.h"

namespace openlapi::bench {
namespace {

constexpr std::array<unsigned, 9> kMultiplications = {0, 15, 30, 45, 60, 75, 90, 105, 120};
constexpr unsigned kRounds = 500;  // per turn

// Each step needs the one before.
void multiply(unsigned times) {
  std::uint64_t value = times;
  for (unsigned i = 0; i < times; ++i) {
    value *= 0x9e3779b97f4a7c15;
    asm volatile("" : "+r"(value));
  }
}

// Of a long chain: short ones overlap.
double nanoseconds_of(unsigned multiplications) {
  constexpr unsigned kLinks = 100;
  Samples samples;
  time_batches(1000, 1, kLinks, &samples, [&] { multiply(kLinks * multiplications); });
  return median(samples);
}

void bind_to_core(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) std::perror("turnaround_bench: not bound to a core");
}

class PingPong {
 public:
  explicit PingPong(SharedRegion& region) : flag_(region->flag.value), region_(region) {}

  // Nanoseconds of half a round trip.
  double turn(unsigned multiplications) {
    region_.barrier();
    const std::uint64_t start = ticks();
    for (unsigned i = 0; i < kRounds; ++i) {
      if (region_.side() == 0) flag_.store(++sequence_, std::memory_order_release);
      await(region_.side() == 0 ? ++sequence_ : sequence_ + 1, multiplications);
      if (region_.side() == 1) flag_.store(sequence_ += 2, std::memory_order_release);
    }
    return static_cast<double>(ticks() - start) * nanoseconds_per_tick() / kRounds / 2;
  }

 private:
  void await(std::uint64_t value, unsigned multiplications) {
    spin_until([&] { return flag_.load(std::memory_order_acquire) == value; });
    multiply(multiplications);
  }

  std::atomic<std::uint64_t>& flag_;
  SharedRegion& region_;
  std::uint64_t sequence_ = 0;
};

void print(const std::array<Samples, kMultiplications.size()>& all) {
  const double flag = median(all[0]);
  std::printf("%12s %16s %12s\n", "work, ns", "half trip, ns", "more than F");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double now = median(all[i]);
    std::printf("%12.0f %16.0f %+12.0f\n", nanoseconds_of(kMultiplications[i]), now, now - flag);
  }
}

int run(int argc, char** argv) {
  const double seconds = argc == 2 ? std::atof(argv[1]) : 4;
  if (argc > 2 || seconds <= 0) {
    std::fprintf(stderr, "usage: turnaround_bench [seconds]\n");
    return 2;
  }
  SharedRegion region;
  std::string error;
  if (!region.create(error)) {
    std::fprintf(stderr, "turnaround_bench: %s\n", error.c_str());
    return 1;
  }
  const pid_t child = fork();
  const int side = child == 0 ? 1 : 0;
  region.use_inherited(side);
  bind_to_core(side);
  PingPong game(region);
  std::array<Samples, kMultiplications.size()> all;
  const std::uint64_t end = monotonic_nanoseconds() + static_cast<std::uint64_t>(seconds * 1e9);
  while (region.agree(monotonic_nanoseconds() < end ? 1 : 0) != 0) {
    for (std::size_t i = 0; i < all.size(); ++i) all[i].push_back(game.turn(kMultiplications[i]));
  }
  if (side == 1) std::_Exit(0);
  print(all);
  return waitpid(child, nullptr, 0) == child ? 0 : 1;
}

}  // namespace
}  // namespace openlapi::bench

int main(int argc, char** argv) { return openlapi::bench::run(argc, argv); }
