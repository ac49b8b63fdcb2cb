// The main program of the simulation with mistakes: takes seeds.
#include "tests/mutants/fork_server.h"
#include "tests/simulation/simulation.h"

namespace {

int run_seed(const std::string& seed) {
  openlapi::simulation::Options options;
  options.seed = std::strtoull(seed.c_str(), nullptr, 10);
  const std::string failure = openlapi::simulation::Simulation(options).run();
  if (!failure.empty()) std::printf("%s\n", failure.c_str());
  return failure.empty() ? 0 : 1;
}

}  // namespace

int main(int count, char** texts) {
  if (!mutants::is_server()) return run_seed(count > 1 ? texts[1] : "1");
  static mutants::ForkServer server(run_seed);
  server.serve();
}
