// One task's process, from its start (task_launch.h) to its end.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "dataplane/base/file_descriptor.h"

namespace openlapi {

class TaskProcess {
 public:
  TaskProcess() = default;
  // Of a child process that leads a group. `pid_fd`: of it.
  TaskProcess(std::uint32_t number, pid_t pid, FileDescriptor pid_fd)
      : number_(number), pid_(pid), pid_fd_(std::move(pid_fd)) {}

  std::uint32_t number() const { return number_; }
  pid_t pid() const { return pid_; }
  int fd() const { return pid_fd_.get(); }  // readable when the process has ended
  bool has_ended() const { return ended_; }

  // Whether it has ended by now. It is not reaped yet: its number, and its group's, stay its own.
  bool check_ended();
  bool failed() const { return exit_code_ != 0 || signal_ != 0; }
  int signal() const { return signal_; }
  // As a shell gives it.
  int exit_status() const;

  // Whether the process itself catches or ignores the signal, so that it may live on.
  bool handles(int signal) const;
  // Whether the signal waits: the process has it blocked, and nobody there has taken it.
  bool has_pending(int signal) const;

  // Whether its first thread has ended. Mostly it will soon have ended itself: others may see its sockets closed by
  // now.
  bool is_exiting() const;

  // Whether it has failed, or does so until then if it is exiting. One that does anything else is not waited for.
  bool fails(std::chrono::steady_clock::time_point until);

  // By a signal, or by a debugger.
  bool is_stopped() const;

  // To the process group: also what the task started.
  void send(int signal) const;

  // After the end: the group must not be signalled any more.
  void reap();

 private:
  // Whether one of the process's sets in /proc, by their names there, has the signal.
  bool is_in_set(int signal, std::initializer_list<std::string_view> sets) const;

  std::uint32_t number_ = 0;
  pid_t pid_ = 0;
  FileDescriptor pid_fd_;
  bool ended_ = false;
  int exit_code_ = 0;
  int signal_ = 0;
};

}  // namespace openlapi
