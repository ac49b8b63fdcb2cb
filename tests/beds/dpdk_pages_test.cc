// Tasks of a machine that start together, with huge pages for some of them. Runs in the machine of soft-roce, whose
// pages are nobody else's.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "nic/dpdk/dpdk_environment.h"
#include "nic/dpdk/dpdk_transport.h"

namespace openlapi {
namespace {

constexpr unsigned kTasks = 4;
constexpr unsigned kPages = 10;  // of 2 MiB: one task needs 4 or 5 of them

// What a task ends with.
enum Result : int { kHuge = 10, kOrdinary = 11, kFailed = 12 };

// Opens a port, waits until all have, and ends.
[[noreturn]] void be_task(int start, int ready, int finish) {
  char byte = 0;
  (void)!read(start, &byte, 1);
  DpdkConfig config;
  config.devices = {"net_null0"};
  config.link_patience = 0;
  DpdkSetupError error;
  const auto transport = open_dpdk_transport(config, error);
  if (transport == nullptr) std::fprintf(stderr, "%s\n", error.text.c_str());
  (void)!write(ready, &byte, 1);
  (void)!read(finish, &byte, 1);
  _exit(transport == nullptr ? kFailed : dpdk::has_huge_pages() ? kHuge : kOrdinary);
}

TEST(DpdkPages, TasksThatStartTogetherDoNotCountThemTwice) {
  std::ofstream("/proc/sys/vm/nr_hugepages") << kPages << std::flush;
  std::array<int, 2> start{}, ready{}, finish{};
  ASSERT_EQ(pipe(start.data()) | pipe(ready.data()) | pipe(finish.data()), 0);
  std::array<pid_t, kTasks> tasks{};
  for (pid_t& task : tasks) {
    task = fork();
    ASSERT_GE(task, 0);
    if (task == 0) {
      close(start[1]);
      close(finish[1]);
      be_task(start[0], ready[1], finish[0]);
    }
  }
  close(start[1]);  // now
  for (unsigned task = 0; task != kTasks; ++task) {
    char byte = 0;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
  }
  close(finish[1]);
  unsigned huge = 0, ordinary = 0;
  for (const pid_t task : tasks) {
    int status = 0;
    ASSERT_EQ(waitpid(task, &status, 0), task);
    huge += WIFEXITED(status) && WEXITSTATUS(status) == kHuge;
    ordinary += WIFEXITED(status) && WEXITSTATUS(status) == kOrdinary;
  }
  EXPECT_EQ(huge + ordinary, kTasks) << "the others found no memory";
  EXPECT_GT(huge, 0u);
  EXPECT_GT(ordinary, 0u);
}

}  // namespace
}  // namespace openlapi
