#include "control/job/node/signal_source.h"

#include <sys/signalfd.h>

#include <cerrno>
#include <cstring>

namespace openlapi {
namespace {

constexpr int kHandled[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGUSR1, SIGUSR2};

// What lapirun's parent ignores (nohup, a shell's background job) stays ignored.
bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

std::string signal_text(int signal) {
  const char* name = sigdescr_np(signal);
  return "signal " + std::to_string(signal) + " (" + (name != nullptr ? name : "unknown") + ")";
}

bool SignalSource::open(std::string& error) {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int signal : kHandled)
    if (!is_ignored(signal)) sigaddset(&handled, signal);
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &action, nullptr);  // ignored, it would hide the tasks' exit statuses
  action.sa_handler = SIG_IGN;
  // Both are errors of what writes instead.
  sigaction(SIGPIPE, &action, &inherited_pipe_);
  sigaction(SIGXFSZ, &action, &inherited_file_size_);
  sigprocmask(SIG_BLOCK, &handled, &inherited_mask_);
  fd_.reset(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  if (fd_.is_open()) return true;
  error = std::string("signalfd: ") + std::strerror(errno);
  return false;
}

int SignalSource::next() {
  signalfd_siginfo info{};
  return read(fd_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

void SignalSource::restore_in_child() const {
  sigaction(SIGPIPE, &inherited_pipe_, nullptr);
  sigaction(SIGXFSZ, &inherited_file_size_, nullptr);
  sigprocmask(SIG_SETMASK, &inherited_mask_, nullptr);
}

}  // namespace openlapi
