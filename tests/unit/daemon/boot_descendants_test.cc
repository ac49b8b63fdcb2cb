#include "control/tools/boot_descendants.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <list>
#include <string>
#include <vector>

#include "dataplane/base/file_descriptor.h"
#include "tests/unit/control/temporary_folder.h"

namespace openlapi::daemon {
namespace {

constexpr char kVariable[] = "LAM_MPI_SSI_boot_base_universe";

class BootDescendantsTest : public testing::Test {
 protected:
  BootDescendantsTest() { setenv(kVariable, "this-boot", 1); }
  ~BootDescendantsTest() override {
    for (const pid_t process : left_) {
      kill(process, SIGKILL);
      waitpid(process, nullptr, 0);
    }
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    unsetenv(kVariable);
  }

  // By an agent, which leaves it in the background: a program of that name with this universe in its environment. It
  // copies its own number, so it runs.
  pid_t leave(const std::string& name, const std::string& universe = "this-boot") {
    const std::string program = folder_.path(name);
    if (!std::filesystem::exists(program)) std::filesystem::create_symlink("/bin/cat", program);
    std::array<int, 2> input{}, output{};
    EXPECT_EQ(pipe2(input.data(), O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(output.data(), O_CLOEXEC), 0);
    const pid_t agent = fork();
    if (agent == 0) {
      const pid_t process = start(program, kVariable + ("=" + universe), input[0], output[1]);
      _exit(write(input[1], &process, sizeof process) == sizeof process ? 0 : 1);
    }
    close(output[1]);
    pid_t process = -1;
    EXPECT_EQ(read(output[0], &process, sizeof process), static_cast<ssize_t>(sizeof process));
    EXPECT_EQ(waitpid(agent, nullptr, 0), agent);
    for (const int end : {input[0], input[1], output[0]}) descriptors_.emplace_back(end);
    EXPECT_GT(process, 0);
    if (process > 0) left_.push_back(process);
    return process;
  }
  // One that has ended, and stays for waitpid.
  static bool runs(pid_t process) {
    siginfo_t information{};
    return waitid(P_PID, static_cast<id_t>(process), &information, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           information.si_pid == 0;
  }

 private:
  static pid_t start(std::string program, std::string variable, int input, int output) {
    char* const words[] = {program.data(), nullptr};
    char* const variables[] = {variable.data(), nullptr};
    posix_spawn_file_actions_t streams;
    posix_spawn_file_actions_init(&streams);
    posix_spawn_file_actions_adddup2(&streams, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&streams, output, STDOUT_FILENO);
    pid_t process = -1;
    return posix_spawn(&process, program.c_str(), &streams, nullptr, words, variables) == 0 ? process : -1;
  }

  test::TemporaryFolder folder_{};
  std::list<FileDescriptor> descriptors_{};
  std::vector<pid_t> left_{};
};

TEST_F(BootDescendantsTest, EndWithABootThatFails) {
  std::vector<pid_t> processes;
  {
    const BootDescendants descendants;
    for (const char* name : {"hboot", "lamd", "lamtree"}) processes.push_back(leave(name));
    kill(processes[1], SIGSTOP);
    for (const pid_t process : processes) EXPECT_TRUE(runs(process));
  }
  for (const pid_t process : processes) EXPECT_FALSE(runs(process));
}

// The master connection of ssh has all of the agent's environment.
TEST_F(BootDescendantsTest, AreNotWhatAnAgentLeavesForTheUser) {
  pid_t master = -1, tunnel = -1, daemon = -1;
  {
    const BootDescendants descendants;
    master = leave("ssh");
    tunnel = leave("tunnel");
    daemon = leave("lamd");
  }
  EXPECT_TRUE(runs(master));
  EXPECT_TRUE(runs(tunnel));
  EXPECT_FALSE(runs(daemon));
}

TEST_F(BootDescendantsTest, AreNotAnotherBoots) {
  pid_t other = -1;
  {
    const BootDescendants descendants;
    other = leave("lamd", "another-boot");
  }
  EXPECT_TRUE(runs(other));
}

TEST_F(BootDescendantsTest, StayWithABootThatDoesNotFail) {
  pid_t daemon = -1;
  {
    BootDescendants descendants;
    daemon = leave("lamd");
    descendants.let_stay();
  }
  EXPECT_TRUE(runs(daemon));
}

TEST_F(BootDescendantsTest, AreNotThereBeforeIt) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t before = leave("lamd");
  { const BootDescendants descendants; }
  EXPECT_TRUE(runs(before));
}

}  // namespace
}  // namespace openlapi::daemon
