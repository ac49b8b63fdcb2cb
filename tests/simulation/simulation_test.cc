// The seeds that run with every change: simulation_test --seeds A..B [--engines N] [--operations N], one test per
// seed. `simulate` runs more of them.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/simulation/crash_report.h"
#include "tests/simulation/simulation.h"

namespace openlapi::simulation {
namespace {

class Seed : public testing::Test {
 public:
  explicit Seed(const Options& options) : options_(options) {}

  void TestBody() override {
    set_crash_report(options_.replay_command());
    Simulation simulation(options_);
    const std::string failure = simulation.run();
    EXPECT_EQ(failure, "") << simulation.scenario().describe() << "\nreplay: " << options_.replay_command();
    EXPECT_GE(simulation.summary().operations, options_.operations * 9 / 10);
    EXPECT_GT(simulation.summary().fences, 0u);
    for (const std::uint64_t sides : simulation.summary().by_layout) EXPECT_GT(sides, 0u);
    EXPECT_GT(simulation.summary().combined, 0u);
    if (simulation.scenario().separations != 0) {
      EXPECT_GT(simulation.summary().purges, 0u);
      // The death of a task ends its separations, and over shared memory nobody comes back: when that has become of all
      // of them, as of the two of seed 67 with some timings, there is nobody to resume.
      if (simulation.summary().separations > simulation.summary().separations_ended_by_death) {
        EXPECT_GT(simulation.summary().resumes, 0u);
      }
    }
  }

 private:
  Options options_;
};

}  // namespace
}  // namespace openlapi::simulation

int main(int count, char** texts) {
  testing::InitGoogleTest(&count, texts);
  openlapi::simulation::Options options;
  unsigned long long first = 1, last = 20;
  for (int i = 1; i < count; i += 2) {
    const char* const value = i + 1 < count ? texts[i + 1] : "";
    const bool seeds = std::strcmp(texts[i], "--seeds") == 0 && std::sscanf(value, "%llu..%llu", &first, &last) == 2;
    const bool tasks = std::strcmp(texts[i], "--engines") == 0 && std::sscanf(value, "%u", &options.tasks) == 1;
    const bool load = std::strcmp(texts[i], "--operations") == 0 && std::sscanf(value, "%u", &options.operations) == 1;
    if (seeds || tasks || load) continue;
    std::fprintf(stderr, "simulation_test: '%s %s'; allowed: --seeds A..B, --engines N, --operations N\n", texts[i],
                 value);
    return 2;
  }
  for (options.seed = first; options.seed <= last; ++options.seed) {
    testing::RegisterTest("Simulation", ("Seed" + std::to_string(options.seed)).c_str(), nullptr, nullptr, __FILE__,
                          __LINE__, [options]() -> testing::Test* { return new openlapi::simulation::Seed(options); });
  }
  return RUN_ALL_TESTS();
}
