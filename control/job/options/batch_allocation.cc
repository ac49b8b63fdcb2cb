#include "control/job/options/batch_allocation.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

namespace openlapi {
namespace {

unsigned number_in(std::string_view text) {
  unsigned number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// A host on each line, as often as it has places. Nobody waits for what is no file to be written to.
unsigned hosts_of_file(std::string_view path) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return 0;
  std::ifstream file{std::string(path)};
  std::set<std::string> hosts;
  for (std::string host; std::getline(file, host);) {
    if (!host.empty()) hosts.insert(host);
  }
  return static_cast<unsigned>(hosts.size());
}

// "host 4 other 2"
unsigned hosts_of_pairs(std::string_view text) {
  std::istringstream words{std::string(text)};
  unsigned count = 0;
  for (std::string word; words >> word;) ++count;
  return count / 2;
}

struct BatchSystem {
  const char* name;
  const char* number;
  const char* nodes;
  unsigned (*count)(std::string_view);
  const char* launcher;
};

constexpr BatchSystem kSystems[] = {{"Slurm job", "SLURM_JOB_ID", "SLURM_JOB_NUM_NODES", number_in, "srun --mpi=pmix"},
                                    {"PBS job", "PBS_JOBID", "PBS_NODEFILE", hosts_of_file, "mpirun"},
                                    {"LSF job", "LSB_JOBID", "LSB_MCPU_HOSTS", hosts_of_pairs, "mpirun"}};

}  // namespace

BatchAllocation batch_allocation(const std::function<const char*(const char*)>& read) {
  for (const BatchSystem& system : kSystems) {
    const char* const number = read(system.number);
    if (number == nullptr || *number == '\0') continue;
    const char* const nodes = read(system.nodes);
    return {std::string(system.name) + " " + number, nodes != nullptr ? system.count(nodes) : 0, system.launcher};
  }
  return {};
}

}  // namespace openlapi
