// How a node's tasks come to run. The order matters: signals are blocked and the watcher is forked before libpmix has
// threads.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "control/job/node/node_tasks.h"
#include "control/job/node/task_environment.h"
#include "control/job/options/job_options.h"
#include "control/job/options/program_path.h"

namespace openlapi::jobs {

// False: there is nothing to start.
bool NodeTasks::await_start() {
  while (connected_) {
    if (const auto bytes = connection_.stream().next()) {
      const auto message = daemon::decode(*bytes);
      const auto* of_job = message ? std::get_if<daemon::JobMessage>(&*message) : nullptr;
      auto body = of_job != nullptr ? decode_body(of_job->body) : std::nullopt;
      auto* start = body ? std::get_if<StartTasks>(&*body) : nullptr;
      if (start == nullptr || of_job->to.empty()) return false;
      job_ = std::move(*start);
      const auto own = std::ranges::find(job_.nodes, of_job->to.front(), &JobNode::node);
      here_ = static_cast<std::size_t>(own - job_.nodes.begin());
      return own != job_.nodes.end() && !own->tasks.empty();
    }
    pollfd wait{connection_.fd(), POLLIN, 0};
    poll(&wait, 1, -1);
    connected_ = connection_.serve();
  }
  return false;
}

void NodeTasks::start() {
  exchange_.begin(own().node);
  std::string error;
  refused_status_ = kExitOwnFailure;
  if (!prepare(error)) return tell(TasksRefused{static_cast<std::uint32_t>(refused_status_), error});
  TasksStarted started;
  for (std::size_t place = 0; place < own().tasks.size(); ++place) {
    if (!start_task(place, error)) return tell(TasksRefused{kExitOwnFailure, error});
    started.processes.push_back(static_cast<std::uint32_t>(tasks_.back().pid()));
  }
  input_for_task_.reset();
  tell(started);
}

bool NodeTasks::prepare(std::string& error) {
  arguments_ = unpack_words(job_.arguments);
  if (!find_program(error)) return false;
  forget_other_job();
  for (const std::string& entry : unpack_words(job_.environment)) {
    const std::size_t equals = entry.find('=');
    if (entry.starts_with("PMIX_MCA_") && equals != std::string::npos)
      setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 1);
  }
  // Tasks get their data over the connection instead of from files: less memory, a faster start, nothing to remove.
  setenv("PMIX_MCA_gds", "hash", 0);
  if (!signals_.open(error)) return false;
  open_files_.raise_for(own().tasks.size());
  const char* temporary = std::getenv("TMPDIR");
  if (!guard_.open(temporary != nullptr && *temporary != '\0' ? temporary : "/tmp", error)) return false;
  pages_.make(guard_.directory(), own().tasks.size());
  if (!topology_.load(error)) return false;
  plan_binding();
  return start_server(error) && open_input(error);
}

bool NodeTasks::find_program(std::string& error) {
  if (chdir(job_.directory.c_str()) != 0) {
    const int reason = errno;
    if (reason == ENOENT || reason == ENOTDIR) refused_status_ = kExitUsage;
    error = "cannot change to '" + job_.directory + "': " + std::strerror(reason);
    return false;
  }
  TaskEnvironment environment(std::vector<const char*>{nullptr}.data());
  for (const std::string& entry : unpack_words(job_.environment)) environment.set_entry(entry);
  const ProgramPath found = openlapi::find_program(arguments_[0], environment.get("PATH"), "");
  program_ = found.path;
  refused_status_ = found.status;
  error = found.error;
  if (found.status != 0) return false;
  refused_status_ = kExitOwnFailure;
  return true;
}

void NodeTasks::plan_binding() {
  bindings_.assign(own().tasks.size(), {});
  if (job_.bind != 0) bindings_ = plan_bindings(topology_.cores(), own().tasks.size());
  if (job_.report_bindings == 0) return;
  for (std::size_t place = 0; place < bindings_.size(); ++place) {
    tell(HelperNote{"task " + std::to_string(own().tasks[place]) + " on n" + std::to_string(own().node) + " (" +
                    own().host + "): " + describe(bindings_[place])});
  }
}

bool NodeTasks::start_server(std::string& error) {
  PmixJob job{job_.name_space, guard_.directory(), guard_.memory_directory(), {}, here_, job_.cookie, job_.packet_key};
  for (const JobNode& node : job_.nodes) job.nodes.push_back({node.host, node.tasks});
  const auto on_abort = [this](std::uint32_t task, int status, const std::string& text) {
    tell(TaskAborted{task, static_cast<std::uint32_t>(status), text});
    if (!connected_) end_tasks();
  };
  const auto on_connection = [this](std::uint32_t task, bool connected) {
    tell(TaskAttended{task, static_cast<std::uint8_t>(connected)});
    connected ? meeting_.take_connected(task) : meeting_.take_over();
    if (connected) in_pmix_.insert(task);
    if (!connected) in_pmix_.erase(task);
  };
  const auto on_fence = [this] { meeting_.take_over(); };
  return server_.start(job, topology_.handle(), mailbox_, &exchange_, {on_abort, on_connection, on_fence}, error);
}

bool NodeTasks::open_input(std::string& error) {
  if (own().tasks.front() != 0) return true;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    error = std::string("cannot hand over standard input: ") + std::strerror(errno);
    return false;
  }
  input_for_task_.reset(ends[0]);
  input_.reset(ends[1]);
  return fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0;
}

bool NodeTasks::start_task(std::size_t place, std::string& error) {
  const std::uint32_t rank = own().tasks[place];
  TaskEnvironment environment(std::vector<const char*>{nullptr}.data());
  for (const std::string& entry : unpack_words(job_.environment)) environment.set_entry(entry);
  std::vector<std::string> variables;
  if (!server_.task_variables(rank, variables, error)) return false;
  for (const std::string& variable : variables) environment.set_entry(variable);
  for (const auto& [name, value] : server_.default_variables()) environment.set_default(name, value);
  environment.set_entry(pages_.variable(place));
  environment.set("PWD", job_.directory);
  const TaskLaunch launch{job_.is_of_lamexec != 0 ? Launcher::kLamexec : Launcher::kLapirun,
                          program_,
                          arguments_,
                          job_.directory,
                          signals_,
                          open_files_.given()};
  LaunchedTask task;
  if (!launch_task(launch, rank, environment.entries(), bindings_[place].processors,
                   rank == 0 ? input_for_task_.get() : -1, task, error))
    return false;
  guard_.add_group(task.process.pid());
  output_.add_task(rank, std::move(task.output), std::move(task.errors));
  tasks_.push_back(std::move(task.process));
  ++running_;
  return true;
}

}  // namespace openlapi::jobs
