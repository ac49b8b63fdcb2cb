#include "control/job/node/task_process.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include "control/base/fork_failure.h"
#include "control/job/options/job_options.h"

namespace openlapi {
namespace {

using ProcessorSet = std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)>;

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

[[noreturn]] void run_child(const TaskStart& start, pid_t parent, const cpu_set_t* processors, std::size_t set_size) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kExitOwnFailure);  // lapirun died before the line above
  dup2(start.input, STDIN_FILENO);
  dup2(start.output, STDOUT_FILENO);
  dup2(start.errors, STDERR_FILENO);
  setrlimit(RLIMIT_NOFILE, start.open_files);
  if (processors != nullptr && sched_setaffinity(0, set_size, processors) != 0)
    leave_child(start.launcher, "bind", start.path, errno);
  if (start.directory != nullptr && chdir(start.directory) != 0)
    leave_child(start.launcher, "change to", start.directory, errno);
  start.signals->restore_in_child();
  execute(start);
  leave_child(start.launcher, "run", start.path, errno);
}

}  // namespace

bool TaskProcess::start(std::uint32_t number, const TaskStart& start, std::string& error) {
  number_ = number;
  ProcessorSet set(nullptr, [](cpu_set_t* owned) { CPU_FREE(owned); });
  std::size_t set_size = 0;
  if (!start.processors->empty()) {
    unsigned highest = 0;
    for (const unsigned processor : *start.processors) highest = processor > highest ? processor : highest;
    set.reset(CPU_ALLOC(highest + 1));
    set_size = CPU_ALLOC_SIZE(highest + 1);
    CPU_ZERO_S(set_size, set.get());
    for (const unsigned processor : *start.processors) CPU_SET_S(processor, set_size, set.get());
  }
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) run_child(start, parent, set.get(), set_size);
  if (pid_ > 0) {
    setpgid(pid_, pid_);  // whoever comes first; signals to the group must reach it from now on
    pid_fd_.reset(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
    if (pid_fd_.is_open()) return true;
  }
  error = "cannot start task " + std::to_string(number) + ": " + fork_failure(errno);
  return false;
}

bool TaskProcess::check_ended() {
  if (ended_ || pid_ <= 0) return ended_;
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != pid_)
    return false;
  ended_ = true;
  (info.si_code == CLD_EXITED ? exit_code_ : signal_) = info.si_status;
  return true;
}

int TaskProcess::exit_status() const { return signal_ != 0 ? kExitSignalBase + signal_ : exit_code_; }

bool TaskProcess::is_in_set(int signal, std::initializer_list<std::string_view> sets) const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string word; status >> word;) {
    std::uint64_t set = 0;
    if (std::ranges::find(sets, word) != sets.end() && status >> std::hex >> set && ((set >> (signal - 1)) & 1) != 0)
      return true;
  }
  return false;
}

bool TaskProcess::handles(int signal) const { return is_in_set(signal, {"SigCgt:", "SigIgn:"}); }

bool TaskProcess::has_pending(int signal) const { return is_in_set(signal, {"SigPnd:", "ShdPnd:"}); }

bool TaskProcess::is_stopped() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string word; status >> word;) {
    if (word == "State:" && status >> word) return word == "T" || word == "t";
  }
  return false;
}

// The seventh number behind the name, which may hold any letter, is the kernel's flags of the first thread.
bool TaskProcess::is_exiting() const {
  constexpr unsigned long kExiting = 0x4;  // PF_EXITING
  std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
  std::string text;
  std::getline(file, text, '\0');
  std::istringstream behind_name(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  std::string skipped;
  for (int field = 0; field < 6; ++field) behind_name >> skipped;
  unsigned long flags = 0;
  return behind_name >> flags && (flags & kExiting) != 0;
}

void TaskProcess::send(int signal) const {
  if (pid_ > 0) kill(-pid_, signal);
}

void TaskProcess::reap() {
  while (pid_ > 0 && waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
}

}  // namespace openlapi
