// Tasks of a machine that start together, with huge pages for some of them. Runs in the machine of soft-roce, whose
// pages are nobody else's.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <vector>

#include "nic/dpdk/dpdk_environment.h"
#include "nic/dpdk/dpdk_transport.h"
#include "nic/dpdk/huge_pages.h"

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

// In a process of its own, as EAL starts once in each: its status.
int status_of(const std::function<bool()>& body) {
  const pid_t process = fork();
  if (process == 0) _exit(body() ? 0 : 1);
  int status = -1;
  waitpid(process, &status, 0);
  return status;
}

// Whether opening ends before the patience of who waits for a turn.
bool opens_at_once(const char* device, const char* arguments) {
  const auto begin = std::chrono::steady_clock::now();
  DpdkConfig config;
  config.devices = {device};
  config.eal_arguments = arguments;
  config.link_patience = 0;
  DpdkSetupError error;
  static auto* const kept = new std::vector<std::unique_ptr<DpdkTransport>>;
  kept->push_back(open_dpdk_transport(config, error));
  if (kept->back() == nullptr) std::fprintf(stderr, "%s\n", error.text.c_str());
  return std::chrono::steady_clock::now() - begin < std::chrono::seconds(25);
}

TEST(DpdkPages, WhoHasNothingToChooseWaitsForNobody) {
  std::ofstream("/proc/sys/vm/nr_hugepages") << 2 * kPages << std::flush;
  const auto turn_of_others = [] { return dpdk::HugePageTurn({.bytes = 1 << 20}); };
  EXPECT_EQ(status_of([&] {
              const auto turn = turn_of_others();
              return turn.held() && opens_at_once("net_null0", "--no-huge");
            }),
            0)
      << "the user has said which pages";
  EXPECT_EQ(status_of([&] {
              const bool first = opens_at_once("net_null0", "");
              const auto turn = turn_of_others();
              return first && turn.held() && opens_at_once("net_null1", "") &&
                     status_of([] { return opens_at_once("net_null2", ""); }) == 0;
            }),
            0)
      << "DPDK runs already";
}

}  // namespace
}  // namespace openlapi
