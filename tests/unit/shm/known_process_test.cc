// Who counts as ended, and whom nobody has to wait for. With real processes.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/known_process.h"
#include "shm/shm_transport.h"
#include "tests/support/transport_tasks.h"

namespace openlapi {
namespace {

using shm::has_ended;
using shm::identify;
using shm::KnownProcess;

// A child that waits until the end of its life.
pid_t start_child() {
  const pid_t process = fork();
  if (process == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  return process;
}

void await_end(pid_t process) {
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOWAIT), 0);
}

TEST(KnownProcess, EndsWithItsProcessNotWithItsNumber) {
  const pid_t child = start_child();
  const auto known = identify(child);
  ASSERT_TRUE(known.has_value());
  EXPECT_FALSE(has_ended(*known));
  EXPECT_TRUE(has_ended({child, known->started + 1})) << "another process has the number now";
  kill(child, SIGKILL);
  await_end(child);
  EXPECT_TRUE(has_ended(*known)) << "nobody has waited for it yet";
  EXPECT_FALSE(identify(child).has_value());
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(has_ended(*known));
  EXPECT_FALSE(identify(child).has_value());
  EXPECT_FALSE(identify(0).has_value());
}

TEST(KnownProcess, NamesMayHoldAnything) {
  ASSERT_EQ(prctl(PR_SET_NAME, "a) Z 1 (b"), 0);
  const auto known = identify(getpid());
  ASSERT_TRUE(known.has_value());
  EXPECT_FALSE(has_ended(*known));
}

TEST(Acquaintances, CountWhereTheyCannotComeAgain) {
  const pid_t child = start_child();
  const auto known = identify(child);
  ASSERT_TRUE(known.has_value());
  shm::Acquaintances acquaintances;
  ShmConfig config{.cookie = 5, .instance = 2, .generation = 1};
  acquaintances.met(config, 7, *known);
  EXPECT_EQ(acquaintances.ended(config, 7), std::nullopt);
  kill(child, SIGKILL);
  await_end(child);
  EXPECT_EQ(acquaintances.ended(config, 7), child);
  EXPECT_EQ(acquaintances.ended(config, 8), std::nullopt);
  config.generation = 0;
  EXPECT_EQ(acquaintances.ended(config, 7), std::nullopt) << "another process may begin anew";
  config.instance = 3;
  config.generation = 1;
  EXPECT_EQ(acquaintances.ended(config, 7), std::nullopt);
  config.tasks_stay_processes = true;
  EXPECT_EQ(acquaintances.ended(config, 7), child);
  config.cookie = 6;
  EXPECT_EQ(acquaintances.ended(config, 7), std::nullopt) << "another job";
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
}

// All tasks but `ending` open a group twice, which ends after the first time.
void reopen_without(PeerIndex ending, std::uint32_t tasks, bool waits_for_the_end) {
  const std::uint64_t cookie = test::fresh_cookie();
  int gone[2];
  ASSERT_EQ(pipe(gone), 0);
  std::vector<pid_t> processes;
  for (PeerIndex self = 0; self < tasks; ++self) {
    processes.push_back(fork());
    if (processes.back() != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (self != ending) close(gone[1]);
    shm::Acquaintances acquaintances;
    ShmConfig config{.cookie = cookie, .self = self, .setup_timeout_milliseconds = 60'000};
    for (PeerIndex task = 0; task < tasks; ++task) config.local_tasks.push_back(task);
    config.acquaintances = &acquaintances;
    ShmSetupError error;
    if (open_shm_transport(config, error) == nullptr) _exit(100);
    if (self == ending) _exit(0);
    char byte;
    if (waits_for_the_end && read(gone[0], &byte, 1) != 0) _exit(101);
    config.generation = 1;
    open_shm_transport(config, error);
    const bool named = error.reason.find("task " + std::to_string(ending) + " (process ") != std::string::npos;
    _exit(named ? static_cast<int>(error.failure) : 102);
  }
  close(gone[0]);
  close(gone[1]);
  for (PeerIndex task = 0; task < tasks; ++task) {
    int status = 0;
    ASSERT_EQ(waitpid(processes[task], &status, 0), processes[task]);
    const int wanted = task == ending ? 0 : static_cast<int>(ShmFailure::kPeerEnded);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == wanted) << "task " << task << ": " << status;
  }
}

TEST(ShmSetup, DoesNotWaitForATaskThatHasEnded) {
  for (const bool before : {true, false}) {
    reopen_without(1, 2, before);
    reopen_without(0, 2, before);
    reopen_without(2, 4, before);
    reopen_without(0, 4, before);
  }
}

}  // namespace
}  // namespace openlapi
