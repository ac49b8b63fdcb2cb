// A process that leads a group, as a task does, and ends when the test has it end.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <thread>
#include <utility>

#include "control/base/process_handle.h"
#include "control/job/node/task_process.h"

namespace openlapi {

class ScriptedTask {
 public:
  ScriptedTask() = default;
  // It ends in order with that status. `exits`: with a first thread that has ended, as the kernel has one that it takes
  // away.
  ScriptedTask(std::uint32_t number, int status, bool exits) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    const pid_t process = fork();
    if (process == 0) run(ends, status, exits);
    close(ends[0]);
    EXPECT_GT(process, 0);
    go_.reset(ends[1]);
    setpgid(process, process);
    process_ = TaskProcess(number, process, FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, process, 0))));
    EXPECT_GE(process_.fd(), 0);
    while (exits && !process_.is_exiting()) sched_yield();
  }

  void end_in_order() { go_.reset(); }
  // Whoever has it ends it.
  TaskProcess take_process() { return std::move(process_); }

  static void remove(TaskProcess& process) {
    process.send(SIGKILL);
    process.reap();
  }

 private:
  [[noreturn]] static void run(const std::array<int, 2>& ends, int status, bool exits) {
    setpgid(0, 0);
    close(ends[1]);
    const auto wait_and_end = [ends, status] {
      char byte = 0;
      _exit(read(ends[0], &byte, 1) == 0 ? status : 99);
    };
    if (exits) {
      std::thread(wait_and_end).detach();
      syscall(SYS_exit, 0);
    }
    wait_and_end();
    _exit(98);
  }

  FileDescriptor go_{};
  TaskProcess process_{};
};

}  // namespace openlapi
