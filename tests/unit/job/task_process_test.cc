#include "control/job/node/task_process.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include "control/base/process_handle.h"

namespace openlapi {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::minutes kLong{5};  // nothing here waits for it

// A process that leads a group, as a task does.
class TaskProcessTest : public testing::Test {
 protected:
  ~TaskProcessTest() override {
    process_.send(SIGKILL);
    process_.reap();
  }
  void start(int status, bool exits) {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    const pid_t process = fork();
    if (process == 0) run(ends, status, exits);
    close(ends[0]);
    ASSERT_GT(process, 0);
    go_.reset(ends[1]);
    setpgid(process, process);
    process_ = TaskProcess(3, process, FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, process, 0))));
    ASSERT_GE(process_.fd(), 0);
    while (exits && !process_.is_exiting()) sched_yield();
  }
  void end_in_order() { go_.reset(); }

  TaskProcess process_{};

 private:
  // Until it may go on. `exits`: with a first thread that has ended, as the kernel has one that it takes away.
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
};

TEST_F(TaskProcessTest, OneThatEndsInOrderDoesNotFail) {
  start(0, true);
  end_in_order();
  EXPECT_FALSE(process_.fails(Clock::now() + kLong));
  EXPECT_TRUE(process_.has_ended()) << "it was waited for";
  EXPECT_FALSE(process_.fails(Clock::now() + kLong));
}

TEST_F(TaskProcessTest, OneThatIsOnItsWayOutIsWaitedForAndFails) {
  start(0, true);
  process_.send(SIGKILL);
  EXPECT_TRUE(process_.fails(Clock::now() + kLong));
  EXPECT_EQ(process_.signal(), SIGKILL);
}

TEST_F(TaskProcessTest, OneThatEndsWithAStatusFails) {
  start(7, true);
  end_in_order();
  EXPECT_TRUE(process_.fails(Clock::now() + kLong));
  EXPECT_EQ(process_.exit_status(), 7);
}

TEST_F(TaskProcessTest, OneThatHasFailedBeforeStillHas) {
  start(7, false);
  end_in_order();
  while (!process_.check_ended()) sched_yield();
  EXPECT_TRUE(process_.fails(Clock::now()));
}

TEST_F(TaskProcessTest, OneThatLivesIsNotWaitedFor) {
  start(7, false);
  EXPECT_FALSE(process_.fails(Clock::now() + kLong));
  EXPECT_FALSE(process_.has_ended());
}

TEST_F(TaskProcessTest, OneThatStaysOnItsWayOutIsGivenUp) {
  start(7, true);
  EXPECT_FALSE(process_.fails(Clock::now()));
  EXPECT_FALSE(process_.has_ended());
}

}  // namespace
}  // namespace openlapi
