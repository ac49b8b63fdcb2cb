// How a job comes to run. The order matters: signals are blocked and the watcher is forked before libpmix has threads.
#include <fcntl.h>
#include <sys/random.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "control/launch/job.h"

namespace openlapi {
namespace {

constexpr rlim_t kOpenFilesPerTask = 5;  // pipes, pidfd, the client's connection
constexpr rlim_t kOpenFilesBeside = 64;

std::string host_name() {
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

struct Pipe {
  FileDescriptor reading;
  FileDescriptor writing;

  bool open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    reading.reset(ends[0]);
    writing.reset(ends[1]);
    return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
  }
};

}  // namespace

bool Job::start() {
  std::string error;
  if (!prepare(error)) {
    std::fprintf(stderr, "lapirun: %s\n", error.c_str());
    return false;
  }
  std::vector<std::string> words = options_.command;
  std::vector<char*> arguments = pointers(words);
  for (std::uint32_t rank = 0; rank < options_.tasks; ++rank) {
    if (start_task(rank, arguments, error)) continue;
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

bool Job::prepare(std::string& error) {
  if (!signals_.open(error)) return false;
  raise_open_files();
  const char* temporary = std::getenv("TMPDIR");
  if (!guard_.open(temporary != nullptr && *temporary != '\0' ? temporary : "/tmp", error)) return false;
  report_phase("watcher started");
  if (!topology_.load(error)) return false;
  plan_binding(topology_.cores());
  report_phase("topology read");
  if (!(options_.standalone ? make_partition(error) : start_server(error))) return false;
  report_phase(options_.standalone ? "partition named" : "PMIx server started");
  return input_.open(error);
}

bool Job::make_partition(std::string& error) {
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

bool Job::task_variables(std::uint32_t rank, std::vector<std::string>& variables, std::string& error) const {
  if (!options_.standalone) return server_.task_variables(rank, variables, error);
  variables = standalone_variables(rank, options_.tasks, partition_);
  return true;
}

bool Job::start_server(std::string& error) {
  // Tasks get their data over the connection instead of from files: less memory, a faster start, nothing to remove.
  setenv("PMIX_MCA_gds", "hash", 0);
  std::uint64_t random[3];
  if (getrandom(random, sizeof random, 0) != sizeof random) {
    error = std::string("getrandom: ") + std::strerror(errno);
    return false;
  }
  char name_space[64];
  std::snprintf(name_space, sizeof name_space, "lapirun-%016" PRIx64 "%016" PRIx64, random[0], random[1]);
  const PmixJob job{name_space, guard_.directory(), host_name(), options_.tasks, random[2]};
  const auto on_abort = [this](std::uint32_t rank, int status, const std::string& text) {
    take_abort(rank, status, text);
  };
  const auto on_connection = [this](std::uint32_t rank, bool connected) { take_connection(rank, connected); };
  attendance_.resize(options_.tasks);
  return server_.start(job, topology_.handle(), mailbox_, on_abort, on_connection, error);
}

void Job::plan_binding(const std::vector<Core>& cores) {
  bindings_.assign(options_.tasks, {});
  if (options_.binding == Binding::kCore) bindings_ = plan_bindings(cores, options_.tasks);
  if (!options_.report_bindings) return;
  for (std::uint32_t rank = 0; rank < options_.tasks; ++rank)
    output_.note("lapirun: task " + std::to_string(rank) + ": " + describe(bindings_[rank]));
}

bool Job::start_task(std::uint32_t rank, std::vector<char*>& arguments, std::string& error) {
  TaskEnvironment own = environment_;
  std::vector<std::string> variables;
  if (!task_variables(rank, variables, error)) return false;
  for (const std::string& variable : variables) own.set_entry(variable);
  std::vector<std::string> entries = own.entries();
  const std::vector<char*> environment = pointers(entries);
  Pipe output;
  Pipe errors;
  FileDescriptor null(rank == 0 ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!output.open() || !errors.open() || (rank != 0 && !null.is_open())) {
    error = "cannot start task " + std::to_string(rank) + ": " + std::strerror(errno);
    return false;
  }
  const TaskStart start{program_.c_str(),
                        arguments.data(),
                        environment.data(),
                        options_.working_directory.empty() ? nullptr : options_.working_directory.c_str(),
                        &bindings_[rank].processors,
                        &signals_,
                        &open_files_,
                        rank == 0 ? input_.task_end() : null.get(),
                        output.writing.get(),
                        errors.writing.get()};
  TaskProcess task;
  if (!task.start(rank, start, error)) return false;
  guard_.add_group(task.pid());
  output_.add_task(rank, std::move(output.reading), std::move(errors.reading));
  tasks_.push_back(std::move(task));
  ++running_;
  return true;
}

// The tasks start with the limit that lapirun was given.
void Job::raise_open_files() {
  if (getrlimit(RLIMIT_NOFILE, &open_files_) != 0) return;
  rlimit raised = open_files_;
  const rlim_t wanted = options_.tasks * kOpenFilesPerTask + kOpenFilesBeside;
  if (raised.rlim_cur >= wanted) return;
  raised.rlim_cur = raised.rlim_max < wanted ? raised.rlim_max : wanted;
  setrlimit(RLIMIT_NOFILE, &raised);
}

void Job::report_phase(const char* what) {
  const TimePoint now = Clock::now();
  const double milliseconds = std::chrono::duration<double, std::milli>(now - phase_start_).count();
  phase_start_ = now;
  if (!options_.verbose) return;
  char line[128];
  std::snprintf(line, sizeof line, "lapirun: %s (%.1f ms)", what, milliseconds);
  output_.note(line);
}

}  // namespace openlapi
