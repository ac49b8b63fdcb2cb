// Programs that end with the process that waits for them, however it ends.
#include "control/boot/processes/bound_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "control/boot/errors/boot_error.h"

namespace openlapi::boot {
namespace {

// A booting agent in a process of its own, which waits for a program.
class BootingAgent {
 public:
  explicit BootingAgent(const std::string& script) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    said_.reset(ends[0]);
    const FileDescriptor output(ends[1]);
    process_ = fork();
    if (process_ != 0) return;
    said_.reset();
    BoundProcess program({"sh", "-c", script}, STDIN_FILENO, output.get(), STDERR_FILENO);
    program.await();
    _exit(0);
  }

  bool program_has_begun() {
    char byte = 0;
    return read(said_.get(), &byte, 1) == 1;
  }
  void kill_by(int number) {
    EXPECT_EQ(kill(process_, number), 0);
    EXPECT_EQ(waitpid(process_, nullptr, 0), process_);
  }
  // Nothing holds its output any more.
  bool program_has_ended() {
    pollfd end{said_.get(), POLLIN, 0};
    char byte = 0;
    return poll(&end, 1, 50'000) == 1 && read(said_.get(), &byte, 1) == 0;
  }

 private:
  pid_t process_ = -1;
  FileDescriptor said_{};
};

TEST(BoundProcess, EndsWithItsProcessAlsoWhenItIgnoresTheSignalsToEnd) {
  const std::string deaf = "trap '' TERM INT HUP; echo; exec sleep 1000";
  BootingAgent ended(deaf), killed(deaf);
  ASSERT_TRUE(ended.program_has_begun());
  ASSERT_TRUE(killed.program_has_begun());
  ended.kill_by(SIGTERM);
  killed.kill_by(SIGKILL);
  EXPECT_TRUE(ended.program_has_ended());
  EXPECT_TRUE(killed.program_has_ended());
}

TEST(BoundProcess, HasTheTimeToEndWhatItHasStarted) {
  // What it starts says itself that it has begun: a shell that has just been forked may lose a signal.
  BootingAgent agent("trap 'kill $!; exit' TERM; sh -c 'echo; exec sleep 1000' & wait");
  ASSERT_TRUE(agent.program_has_begun());
  agent.kill_by(SIGKILL);
  EXPECT_TRUE(agent.program_has_ended());
}

TEST(BoundProcess, EndsWithItsObject) {
  pid_t process = -1;
  {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const FileDescriptor said(ends[0]), output(ends[1]);
    const BoundProcess program({"sh", "-c", "echo $$; exec sleep 1000"}, STDIN_FILENO, output.get(), STDERR_FILENO);
    char digits[16] = "";
    ASSERT_GT(read(said.get(), digits, sizeof digits - 1), 1);
    process = std::atoi(digits);
    EXPECT_EQ(kill(process, 0), 0);
  }
  EXPECT_EQ(kill(process, 0), -1);
}

TEST(BoundProcess, SaysWhyItCannotBeStarted) {
  EXPECT_THROW(BoundProcess({"/no/such/program"}, STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO), BootError);
}

}  // namespace
}  // namespace openlapi::boot
