// How a job comes to run. The order matters: signals are blocked and the watcher is forked before libpmix has threads.
#include <sys/random.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "control/job/options/this_host.h"
#include "control/job/origin/local_job.h"

namespace openlapi {

bool LocalJob::start() {
  std::string error;
  if (!prepare(error)) {
    std::fprintf(stderr, "lapirun: %s\n", error.c_str());
    return false;
  }
  for (std::uint32_t rank = 0; rank < options_.tasks; ++rank) {
    if (start_task(rank, error)) continue;
    output_.note("lapirun: " + error);
    record_failure(kExitOwnFailure);
    end_tasks();
    break;
  }
  input_.close_task_end();
  report_phase("tasks started");
  if (options_.timeout) timeout_at_ = Clock::now() + *options_.timeout;
  return true;
}

bool LocalJob::prepare(std::string& error) {
  if (!signals_.open(error)) return false;
  open_files_.raise_for(options_.tasks);
  const char* temporary = std::getenv("TMPDIR");
  if (!guard_.open(temporary != nullptr && *temporary != '\0' ? temporary : "/tmp", error)) return false;
  pages_.make(guard_.directory(), options_.tasks);
  report_phase("watcher started");
  if (!topology_.load(error)) return false;
  plan_binding(topology_.cores());
  report_phase("topology read");
  if (!(options_.standalone ? make_partition(error) : start_server(error))) return false;
  report_phase(options_.standalone ? "partition named" : "PMIx server started");
  return input_.open(error);
}

bool LocalJob::make_partition(std::string& error) {
  std::uint64_t random[2];
  if (getrandom(random, sizeof random, 0) != sizeof random) {
    error = std::string("getrandom: ") + std::strerror(errno);
    return false;
  }
  char text[40];
  std::snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
  partition_ = text;
  return true;
}

bool LocalJob::task_variables(std::uint32_t rank, std::vector<std::string>& variables, std::string& error) const {
  if (!options_.standalone) return server_.task_variables(rank, variables, error);
  variables = standalone_variables(rank, options_.tasks, partition_);
  return true;
}

bool LocalJob::start_server(std::string& error) {
  // Tasks get their data over the connection instead of from files: less memory, a faster start, nothing to remove.
  setenv("PMIX_MCA_gds", "hash", 0);
  std::uint64_t random[4];
  if (getrandom(random, sizeof random, 0) != sizeof random) {
    error = std::string("getrandom: ") + std::strerror(errno);
    return false;
  }
  char name_space[64];
  std::snprintf(name_space, sizeof name_space, "lapirun-%016" PRIx64 "%016" PRIx64, random[0], random[1]);
  PmixNode here{host_name(), std::vector<std::uint32_t>(options_.tasks)};
  std::iota(here.tasks.begin(), here.tasks.end(), 0U);
  const PmixJob job{name_space, guard_.directory(), guard_.memory_directory(), {here}, 0, random[2], random[3]};
  const auto on_abort = [this](std::uint32_t rank, int status, const std::string& text) {
    take_abort(rank, status, text);
  };
  const auto on_connection = [this](std::uint32_t rank, bool connected) { take_connection(rank, connected); };
  attendance_.resize(options_.tasks);
  const auto on_fence = [this] { meeting_.take_over(); };
  return server_.start(job, topology_.handle(), mailbox_, nullptr, {on_abort, on_connection, on_fence}, error);
}

void LocalJob::plan_binding(const std::vector<Core>& cores) {
  bindings_.assign(options_.tasks, {});
  if (options_.binding == Binding::kCore) bindings_ = plan_bindings(cores, options_.tasks);
  if (!options_.report_bindings) return;
  for (std::uint32_t rank = 0; rank < options_.tasks; ++rank)
    output_.note("lapirun: task " + std::to_string(rank) + ": " + describe(bindings_[rank]));
}

bool LocalJob::start_task(std::uint32_t rank, std::string& error) {
  TaskEnvironment own = environment_;
  std::vector<std::string> variables;
  if (!task_variables(rank, variables, error)) return false;
  for (const std::string& variable : variables) own.set_entry(variable);
  for (const auto& [name, value] : server_.default_variables()) own.set_default(name, value);
  own.set_entry(pages_.variable(rank));
  const TaskLaunch launch{options_.launcher,          program_, options_.command,
                          options_.working_directory, signals_, open_files_.given()};
  LaunchedTask task;
  if (!launch_task(launch, rank, own.entries(), bindings_[rank].processors, rank == 0 ? input_.task_end() : -1, task,
                   error))
    return false;
  guard_.add_group(task.process.pid());
  output_.add_task(rank, std::move(task.output), std::move(task.errors));
  tasks_.push_back(std::move(task.process));
  ++running_;
  return true;
}

void LocalJob::report_phase(const char* what) {
  const TimePoint now = Clock::now();
  const double milliseconds = std::chrono::duration<double, std::milli>(now - phase_start_).count();
  phase_start_ = now;
  if (!options_.verbose) return;
  char line[128];
  std::snprintf(line, sizeof line, "lapirun: %s (%.1f ms)", what, milliseconds);
  output_.note(line);
}

}  // namespace openlapi
