#include "control/job/node/task_launch.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "control/base/fork_failure.h"
#include "control/base/process_handle.h"

namespace openlapi {
namespace {

constexpr rlim_t kOpenFilesPerTask = 5;  // pipes, pidfd, the client's connection
constexpr rlim_t kOpenFilesBeside = 64;

// What a task starts with, between fork and exec. Nothing here is owned.
struct TaskStart {
  const char* launcher = nullptr;  // its name
  const char* path = nullptr;
  char* const* arguments = nullptr;                   // null-terminated
  char* const* environment = nullptr;                 // null-terminated
  const char* directory = nullptr;                    // null: lapirun's own
  const std::vector<unsigned>* processors = nullptr;  // empty: not bound
  const SignalSource* signals = nullptr;
  const rlimit* open_files = nullptr;
  int input = -1;
  int output = -1;
  int errors = -1;
};

// A set of processors as the kernel takes it.
class ProcessorSet {
 public:
  explicit ProcessorSet(const std::vector<unsigned>& processors) {
    if (processors.empty()) return;
    const unsigned count = *std::ranges::max_element(processors) + 1;
    set_.reset(CPU_ALLOC(count));
    size_ = CPU_ALLOC_SIZE(count);
    CPU_ZERO_S(size_, set_.get());
    for (const unsigned processor : processors) CPU_SET_S(processor, size_, set_.get());
  }
  // False: errno. An empty one binds to nothing.
  bool bind_this_process() const { return set_ == nullptr || sched_setaffinity(0, size_, set_.get()) == 0; }

 private:
  std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set_{nullptr, [](cpu_set_t* owned) { CPU_FREE(owned); }};
  std::size_t size_ = 0;
};

// After fork in a process with threads: only what is safe in a signal handler. strerrordesc_np reads a constant table.
[[noreturn]] void leave_child(const char* launcher, const char* what, const char* name, int error) {
  const char* parts[] = {launcher, ": cannot ", what, " '", name, "': ", strerrordesc_np(error), "\n"};
  for (const char* part : parts) {
    [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, part, std::strlen(part));
  }
  _exit(error == ENOENT || error == ENOTDIR ? kExitNotFound : kExitNotExecutable);
}

void execute(const TaskStart& start) {
  execve(start.path, start.arguments, start.environment);
  if (errno != ENOEXEC) return;
  // A script without its first line, as shells and execvp run it.
  std::size_t count = 0;
  while (start.arguments[count] != nullptr) ++count;
  auto** arguments = static_cast<char**>(__builtin_alloca((count + 2) * sizeof(char*)));
  arguments[0] = const_cast<char*>("/bin/sh");
  arguments[1] = const_cast<char*>(start.path);
  for (std::size_t i = 1; i <= count; ++i) arguments[i + 1] = start.arguments[i];
  execve(arguments[0], arguments, start.environment);
}

[[noreturn]] void run_child(const TaskStart& start, pid_t parent, const ProcessorSet& processors) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kExitOwnFailure);  // lapirun died before the line above
  dup2(start.input, STDIN_FILENO);
  dup2(start.output, STDOUT_FILENO);
  dup2(start.errors, STDERR_FILENO);
  setrlimit(RLIMIT_NOFILE, start.open_files);
  if (!processors.bind_this_process()) leave_child(start.launcher, "bind", start.path, errno);
  if (start.directory != nullptr && chdir(start.directory) != 0)
    leave_child(start.launcher, "change to", start.directory, errno);
  start.signals->restore_in_child();
  execute(start);
  leave_child(start.launcher, "run", start.path, errno);
}

// The process has a group of its own and dies with the thread that started it: the main one.
bool start_process(std::uint32_t number, const TaskStart& start, TaskProcess& process, std::string& error) {
  const ProcessorSet set(*start.processors);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) run_child(start, parent, set);
  if (child > 0) {
    setpgid(child, child);  // whoever comes first; signals to the group must reach it from now on
    process = TaskProcess(number, child, process_handle(child));
    if (process.fd() >= 0) return true;
  }
  error = "cannot start task " + std::to_string(number) + ": " + fork_failure(errno);
  return false;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

bool open_pipe(FileDescriptor& reading, FileDescriptor& writing) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  reading.reset(ends[0]);
  writing.reset(ends[1]);
  return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

}  // namespace

void OpenFileLimit::raise_for(std::size_t tasks) {
  if (getrlimit(RLIMIT_NOFILE, &given_) != 0) return;
  rlimit raised = given_;
  const rlim_t wanted = tasks * kOpenFilesPerTask + kOpenFilesBeside;
  if (raised.rlim_cur >= wanted) return;
  raised.rlim_cur = raised.rlim_max < wanted ? raised.rlim_max : wanted;
  setrlimit(RLIMIT_NOFILE, &raised);
}

bool launch_task(const TaskLaunch& launch, std::uint32_t number, std::vector<std::string> environment,
                 const std::vector<unsigned>& processors, int input, LaunchedTask& task, std::string& error) {
  std::vector<std::string> words = launch.arguments;
  const std::vector<char*> arguments = pointers(words);
  const std::vector<char*> variables = pointers(environment);
  FileDescriptor output, errors;
  FileDescriptor null(input >= 0 ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!open_pipe(task.output, output) || !open_pipe(task.errors, errors) || (input < 0 && !null.is_open())) {
    error = "cannot start task " + std::to_string(number) + ": " + std::strerror(errno);
    return false;
  }
  const TaskStart start{program_name(launch.launcher),
                        launch.program.c_str(),
                        arguments.data(),
                        variables.data(),
                        launch.directory.empty() ? nullptr : launch.directory.c_str(),
                        &processors,
                        &launch.signals,
                        &launch.open_files,
                        input >= 0 ? input : null.get(),
                        output.get(),
                        errors.get()};
  return start_process(number, start, task.process, error);
}

}  // namespace openlapi
