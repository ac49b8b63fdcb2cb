// A process by a handle (pidfd), which never comes to mean another process, as a number does. Async-signal-safe.
#pragma once

#include <poll.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "dataplane/base/file_descriptor.h"

namespace openlapi {

constexpr int kMillisecondsToEnd = 5000;

// Not open: there is no such process. glibc 2.36 declares pidfd_open as a C++ function.
inline FileDescriptor process_handle(pid_t process) {
  return FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
}

// Waits for the end of a child; its status, as waitpid has it.
inline int await_child(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

inline void send_signal(int handle, int number) { syscall(SYS_pidfd_send_signal, handle, number, nullptr, 0); }

// First SIGTERM, also to one that is stopped, so that it can end what it has started elsewhere; SIGKILL if it has not
// ended after kMillisecondsToEnd.
inline void end_process(int handle) {
  send_signal(handle, SIGTERM);
  send_signal(handle, SIGCONT);
  pollfd watched{handle, POLLIN, 0};
  if (poll(&watched, 1, kMillisecondsToEnd) <= 0) send_signal(handle, SIGKILL);
}

}  // namespace openlapi
