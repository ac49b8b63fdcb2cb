#include "control/job/node/task_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "control/base/process_handle.h"
#include "control/job/options/job_options.h"

namespace openlapi {

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

bool TaskProcess::fails(std::chrono::steady_clock::time_point until) {
  if (!ended_ && !is_exiting()) return false;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
  pollfd end{fd(), POLLIN, 0};
  poll(&end, 1, std::max(static_cast<int>(left.count()), 0));
  return check_ended() && failed();
}

void TaskProcess::send(int signal) const {
  if (pid_ > 0) kill(-pid_, signal);
}

void TaskProcess::reap() {
  if (pid_ > 0) await_child(pid_);
  pid_ = 0;
}

}  // namespace openlapi
