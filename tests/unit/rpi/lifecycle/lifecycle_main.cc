// Random lives of requests in the host of rpi modules, judged by a simple model of MPI's matching.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dataplane/base/whole_number.h"
#include "tests/simulation/crash_report.h"
#include "tests/unit/rpi/lifecycle/lifecycle_run.h"

namespace openlapi::rpi {
namespace {

constexpr int kSteps = 300;

struct Seeds {
  std::uint64_t first = 1, last = 100;
  int steps = kSteps;
};

int usage() {
  std::fputs("usage: rpi_lifecycle [--seed N | --seeds A..B] [--steps N]\n", stderr);
  return 2;
}

bool parse(int count, char** words, Seeds& seeds) {
  for (int n = 1; n < count; n += 2) {
    if (n + 1 == count) return false;
    const std::string option = words[n], value = words[n + 1];
    const auto dots = value.find("..");
    const auto first = whole_number<std::uint64_t>(value.substr(0, dots));
    const auto last = dots == std::string::npos ? first : whole_number<std::uint64_t>(value.substr(dots + 2));
    if (!first || !last || *first > *last) return false;
    if (option == "--steps" && dots == std::string::npos) {
      seeds.steps = static_cast<int>(*first);
    } else if ((option == "--seed" && dots == std::string::npos) || option == "--seeds") {
      seeds.first = *first;
      seeds.last = *last;
    } else {
      return false;
    }
  }
  return true;
}

bool passes(const char* program, std::uint64_t seed, int steps) {
  const std::string replay =
      std::string(program) + " --seed " + std::to_string(seed) + " --steps " + std::to_string(steps);
  simulation::set_crash_report(replay);
  LifecycleRun life(seed, steps);
  try {
    life.run();
    return true;
  } catch (const std::exception& error) {
    std::printf("seed %llu failed in step %d: %s\nreplay: %s\n", static_cast<unsigned long long>(seed), life.step(),
                error.what(), replay.c_str());
    std::fflush(stdout);
    // What is left may be broken: it is not taken apart.
    std::_Exit(1);
  }
}

int run(int count, char** words) {
  Seeds seeds;
  if (!parse(count, words, seeds)) return usage();
  for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    if (!passes(words[0], seed, seeds.steps)) return 1;
  }
  std::printf("seeds %llu..%llu passed\n", static_cast<unsigned long long>(seeds.first),
              static_cast<unsigned long long>(seeds.last));
  return 0;
}

}  // namespace
}  // namespace openlapi::rpi

int main(int count, char** words) { return openlapi::rpi::run(count, words); }
