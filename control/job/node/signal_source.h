// The signals that lapirun handles, as a file descriptor; and what the tasks must start with instead.
#pragma once

#include <signal.h>

#include <string>

#include "dataplane/base/file_descriptor.h"

namespace openlapi {

// Whether a signal that lapirun handles asks tasks to end.
inline bool is_ending_signal(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

// "signal 9 (Killed)"
std::string signal_text(int signal);

class SignalSource {
 public:
  // Before the process has a second thread, so that all threads have these signals blocked.
  bool open(std::string& error);

  int fd() const { return fd_.get(); }
  // The next signal that arrived; 0 when there is none.
  int next();

  // In a forked child, before it executes the task: only calls that are safe there.
  void restore_in_child() const;

 private:
  FileDescriptor fd_;
  sigset_t inherited_mask_{};
  struct sigaction inherited_pipe_ {};
  struct sigaction inherited_file_size_ {};
};

}  // namespace openlapi
