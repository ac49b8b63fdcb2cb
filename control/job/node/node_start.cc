// How a node's tasks come to run. The order matters: signals are blocked and the watcher is forked before libpmix has
// threads.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "control/job/node/node_tasks.h"
#include "control/job/options/job_options.h"
#include "control/job/options/program_path.h"

namespace openlapi::jobs {

void NodeTasks::start() {
  TasksRefused refused;
  if (!prepare(refused)) return tell_(refused);
  TasksStarted started;
  for (std::size_t place = 0; place < job_.this_node().tasks.size(); ++place) {
    if (!start_task(place, refused.why)) return tell_(refused);
    started.processes.push_back(static_cast<std::uint32_t>(tasks_.back().pid()));
  }
  input_for_task_.reset();
  tell_(started);
}

bool NodeTasks::prepare(TasksRefused& refused) {
  for (const std::string& entry : unpack_words(job_.tasks.environment)) environment_.set_entry(entry);
  arguments_ = unpack_words(job_.tasks.arguments);
  const ProgramPath program = find_program(arguments_[0], environment_.get("PATH"), job_.tasks.directory);
  refused = {static_cast<std::uint32_t>(program.status), program.error};
  if (program.status != 0) return false;
  program_ = program.path;
  environment_.apply_to_pmix_server();
  refused.status = kExitOwnFailure;
  return prepare_node(refused.why);
}

bool NodeTasks::prepare_node(std::string& error) {
  open_files_.raise_for(job_.this_node().tasks.size());
  const char* temporary = std::getenv("TMPDIR");
  if (!cleanup_.open(temporary != nullptr && *temporary != '\0' ? temporary : "/tmp", error)) return false;
  pages_.make(cleanup_.directory(), job_.this_node().tasks.size());
  job_.report_phase("watcher started");
  if (!topology_.load(error)) return false;
  plan_binding();
  job_.report_phase("topology read");
  return start_server(error) && open_input(error);
}

void NodeTasks::plan_binding() {
  const std::vector<std::uint32_t>& tasks = job_.this_node().tasks;
  bindings_.assign(tasks.size(), {});
  if (job_.tasks.bind != 0) bindings_ = plan_bindings(topology_.cores(), tasks.size());
  if (job_.tasks.report_bindings == 0) return;
  for (std::size_t place = 0; place < tasks.size(); ++place) {
    tell_(HelperNote{task_text(tasks[place]) + ": " + describe(bindings_[place])});
  }
}

bool NodeTasks::start_server(std::string& error) {
  if (!job_.partition.empty()) {
    job_.report_phase("partition named");
    return true;
  }
  // Tasks get their data over the connection instead of from files: less memory, a faster start, nothing to remove.
  setenv("PMIX_MCA_gds", "hash", 0);
  PmixJob job{job_.tasks.name_space, cleanup_.directory(), cleanup_.memory_directory(), {}, job_.here,
              job_.tasks.cookie,     job_.tasks.packet_key};
  for (const JobNode& node : job_.tasks.nodes) job.nodes.push_back({node.host, node.tasks});
  const auto on_abort = [this](std::uint32_t task, int status, const std::string& text) {
    aborts_.push_back({task, static_cast<std::uint32_t>(status), text});
  };
  const auto on_connection = [this](std::uint32_t task, bool connected) {
    tell_(TaskAttended{task, static_cast<std::uint8_t>(connected)});
    connected ? meeting_.take_connected(task) : meeting_.take_over();
    if (connected) in_pmix_.insert(task);
    if (!connected) in_pmix_.erase(task);
  };
  const auto on_fence = [this] { meeting_.take_over(); };
  if (!server_.start(job, topology_.handle(), mailbox_, peers_, {on_abort, on_connection, on_fence}, error))
    return false;
  job_.report_phase("PMIx server started");
  return true;
}

bool NodeTasks::task_variables(std::uint32_t task, std::vector<std::string>& variables, std::string& error) const {
  if (job_.partition.empty()) return server_.task_variables(task, variables, error);
  variables = standalone_variables(task, task_count(job_.tasks.nodes), job_.partition);
  return true;
}

bool NodeTasks::open_input(std::string& error) {
  if (job_.this_node().tasks.front() != 0) return true;
  int ends[2] = {-1, -1};
  if (job_.input >= 0) {
    ends[0] = fcntl(job_.input, F_DUPFD_CLOEXEC, 3);
  } else if (pipe2(ends, O_CLOEXEC) == 0) {
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
  }
  input_for_task_.reset(ends[0]);
  input_.reset(ends[1]);
  if (input_for_task_.is_open()) return true;
  error = std::string("cannot hand over standard input: ") + std::strerror(errno);
  return false;
}

bool NodeTasks::start_task(std::size_t place, std::string& error) {
  const std::uint32_t number = job_.this_node().tasks[place];
  TaskEnvironment environment = environment_;
  std::vector<std::string> variables;
  if (!task_variables(number, variables, error)) return false;
  for (const std::string& variable : variables) environment.set_entry(variable);
  for (const auto& [name, value] : server_.default_variables()) environment.set_default(name, value);
  environment.set_entry(pages_.variable(place));
  if (job_.tasks.directory.starts_with('/')) environment.set("PWD", job_.tasks.directory);
  const TaskLaunch launch{job_.tasks.is_of_lamexec != 0 ? Launcher::kLamexec : Launcher::kLapirun,
                          program_,
                          arguments_,
                          job_.tasks.directory,
                          signals_,
                          open_files_.given()};
  LaunchedTask task;
  if (!launch_task(launch, number, environment.entries(), bindings_[place].processors,
                   number == 0 ? input_for_task_.get() : -1, task, error))
    return false;
  cleanup_.add_group(task.process.pid());
  output_.add_task(number, std::move(task.output), std::move(task.errors));
  tasks_.push_back(std::move(task.process));
  ++running_;
  return true;
}

}  // namespace openlapi::jobs
