#include "control/boot/startup/started_processes.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <utility>

#include "control/base/process_handle.h"

namespace openlapi::boot {
namespace {

std::string end_of(const siginfo_t& end) {
  return end.si_code == CLD_EXITED ? "ended with status " + std::to_string(end.si_status)
                                   : "was ended by signal " + std::to_string(end.si_status);
}

}  // namespace

StartedProcesses& started_processes() {
  static StartedProcesses processes;
  return processes;
}

StartedProcesses::StartedProcesses() : news_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void StartedProcesses::add(int node_id, const std::string& program, pid_t process) {
  FileDescriptor handle = process_handle(process);
  if (!handle.is_open()) return;
  const std::lock_guard lock(mutex_);
  processes_.push_back({node_id, program, process, std::move(handle)});
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(news_.get(), &one, sizeof one);
}

// Each leads a session of its own. Its number is not given to another before it was waited for.
void StartedProcesses::end(int node_id) {
  const std::lock_guard lock(mutex_);
  std::erase_if(processes_, [&](const Process& process) {
    if (process.node_id != node_id) return false;
    kill(-process.process, SIGKILL);
    siginfo_t end{};
    waitid(P_PIDFD, static_cast<id_t>(process.handle.get()), &end, WEXITED);
    return true;
  });
}

void StartedProcesses::forget() {
  const std::lock_guard lock(mutex_);
  processes_.clear();
  failed_.reset();
}

void StartedProcesses::watch(std::vector<pollfd>& watched) {
  const std::lock_guard lock(mutex_);
  watched.push_back({news_.get(), POLLIN, 0});
  for (const Process& process : processes_) watched.push_back({process.handle.get(), POLLIN, 0});
}

bool StartedProcesses::is_over() {
  const std::lock_guard lock(mutex_);
  std::uint64_t ignored = 0;
  [[maybe_unused]] const ssize_t count = read(news_.get(), &ignored, sizeof ignored);
  std::erase_if(processes_, [&](const Process& process) {
    siginfo_t end{};
    if (failed_ || waitid(P_PIDFD, static_cast<id_t>(process.handle.get()), &end, WEXITED | WNOHANG) != 0) return false;
    if (end.si_pid == 0) return false;
    if (end.si_code != CLD_EXITED || end.si_status != 0) {
      failed_ = FailedProcess{process.node_id, process.program + " " + end_of(end)};
    }
    return true;
  });
  return failed_.has_value();
}

std::optional<FailedProcess> StartedProcesses::take_failed() {
  const std::lock_guard lock(mutex_);
  return std::exchange(failed_, std::nullopt);
}

}  // namespace openlapi::boot
