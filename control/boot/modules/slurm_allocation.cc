#include "control/boot/modules/slurm_allocation.h"

#include <charconv>
#include <cstdlib>
#include <sstream>

#include "control/boot/errors/boot_error.h"
#include "control/boot/processes/agent_process.h"
#include "control/boot/schemas/schema_words.h"

namespace openlapi::boot {
namespace {

struct Setting {
  const char* name;
  const char* value;  // nullptr: none is set
};

// Slurm has older names for most of its variables. The first one that is set.
Setting setting(const char* name, const char* older) {
  const char* value = std::getenv(name);
  if (value != nullptr && *value != '\0') return {name, value};
  value = std::getenv(older);
  return value != nullptr && *value != '\0' ? Setting{older, value} : Setting{name, nullptr};
}

Setting node_list() { return setting("SLURM_JOB_NODELIST", "SLURM_NODELIST"); }

[[noreturn]] void refuse_counts(std::string_view text, const std::string& variable, std::size_t count) {
  throw BootError(variable + " is " + shown(text) + "; allowed: numbers for " + std::to_string(count) +
                  " nodes, for example 2(x3),1");
}

// Takes a number off the text; 0: there is none, or it is no count.
int take_count(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 1) return 0;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

}  // namespace

std::string why_no_slurm_allocation() {
  if (setting("SLURM_JOB_ID", "SLURM_JOBID").value == nullptr) return "SLURM_JOB_ID is not set";
  if (node_list().value == nullptr) return "SLURM_JOB_NODELIST is not set";
  return "";
}

std::vector<int> slurm_counts(std::string_view text, const std::string& variable, std::size_t count) {
  std::vector<int> counts;
  std::string_view rest = text;
  while (counts.size() < count) {
    const int number = take_count(rest);
    std::size_t times = 1;
    if (rest.starts_with("(x")) {
      rest.remove_prefix(2);
      times = static_cast<std::size_t>(take_count(rest));
      if (!rest.starts_with(")")) times = 0;
      rest.remove_prefix(rest.empty() ? 0 : 1);
    }
    if (number == 0 || times == 0 || times > count - counts.size()) refuse_counts(text, variable, count);
    counts.insert(counts.end(), times, number);
    if (counts.size() == count) break;
    if (!rest.starts_with(",")) refuse_counts(text, variable, count);
    rest.remove_prefix(1);
  }
  if (!rest.empty()) refuse_counts(text, variable, count);
  return counts;
}

std::vector<HostEntry> slurm_hosts() {
  const Setting list = node_list();
  const std::vector<std::string> words{"scontrol", "show", "hostnames", list.value};
  const AgentResult result = run_agent(words, AgentInput::kNothing, kAgentTime);
  if (result.status != 0 || result.too_slow) {
    throw BootError(std::string(list.name) + " is " + shown(list.value) + ", of which scontrol makes no hosts: " +
                    (result.too_slow ? "was given up after 60 s" : in_one_line(result.errors)) + " (" + glued(words) +
                    ")");
  }
  std::vector<HostEntry> hosts;
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) hosts.push_back({.name = line});
  }
  if (hosts.empty()) throw BootError(std::string(list.name) + " is " + shown(list.value) + ", which is no host");
  for (const char* variable : {"SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE"}) {
    const char* text = std::getenv(variable);
    if (text == nullptr || *text == '\0') continue;
    const std::vector<int> counts = slurm_counts(text, variable, hosts.size());
    for (std::size_t n = 0; n < hosts.size(); ++n) hosts[n].cpus = counts[n];
    break;
  }
  return hosts;
}

std::vector<std::string> srun_words(const std::string& host) {
  return {"srun",      "--overlap",  "--mpi=none",          "--cpu-bind=none",
          "--nodes=1", "--ntasks=1", "--ntasks-per-node=1", "--nodelist=" + host};
}

}  // namespace openlapi::boot
