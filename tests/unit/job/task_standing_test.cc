#include "control/job/node/task_standing.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "dataplane/base/task_page.h"
#include "tests/unit/control/temporary_folder.h"

namespace openlapi {
namespace {

using Lines = std::vector<std::string>;

TaskStanding standing(std::uint32_t task, const std::string& where, std::optional<std::uint32_t> seconds = {},
                      const std::string& why = {}, const std::string& host = {}) {
  return {task, 1000 + task, where, seconds, why, host};
}

TEST(StandingLines, JoinTasksAtTheSamePlace) {
  EXPECT_EQ(standing_lines({standing(0, "in A", 12), standing(1, "in A", 14), standing(2, "in B", 3, "no room"),
                            standing(3, "in A", 12), standing(4, "outside")}),
            (Lines{"tasks 0-1,3: in A for 12 to 14 s", "task 2 (process 1002): in B for 3 s: no room",
                   "task 4 (process 1004): outside"}));
  EXPECT_EQ(standing_lines({standing(0, "in A", 2), standing(1, "in A", 2), standing(2, "in A", 2, "other")}),
            (Lines{"tasks 0-1: in A for 2 s", "task 2 (process 1002): in A for 2 s: other"}));
}

TEST(StandingLines, SayWhere) {
  EXPECT_EQ(standing_lines({standing(0, "out", {}, {}, "n0 (a)"), standing(1, "out", {}, {}, "n1 (b)"),
                            standing(2, "in", {}, {}, "n1 (b)"), standing(3, "in", {}, {}, "n1 (b)")}),
            (Lines{"tasks 0-1 on 2 nodes: out", "tasks 2-3 on n1 (b): in"}));
}

TEST(StandingLines, AreFewAndShort) {
  std::vector<TaskStanding> apart, every_second;
  for (std::uint32_t task = 0; task < 30; ++task) apart.push_back(standing(task, std::to_string(task)));
  const Lines lines = standing_lines(apart);
  ASSERT_EQ(lines.size(), 11U);
  EXPECT_EQ(lines[9], "task 9 (process 1009): 9");
  EXPECT_EQ(lines[10], "20 more tasks stand elsewhere");
  for (std::uint32_t task = 0; task < 60; task += 2) every_second.push_back(standing(task, "here"));
  EXPECT_EQ(standing_lines(every_second), Lines{"tasks 0,2,4,6,8,10,12,14,... (30): here"});
}

constexpr char kDead[] = "its program has ended, what has started it goes on";

std::string place_of(pid_t process) {
  TaskPages::Words words;
  words.process = static_cast<std::uint32_t>(process);
  ContainerNumbers elsewhere;
  return standing_of(TaskProcess{}, words, false, elsewhere).where;
}

TEST(StandingOf, SaysWhatHasEndedBelowTheTask) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t ended{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(place_of(child), kDead);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(place_of(child), kDead);
}

TEST(StandingOf, NamesCallsWithDataInPieces) {
  const std::pair<WaitedCall, const char*> cases[] = {{WaitedCall::put_of_pieces, "in LAPI_Putv"},
                                                      {WaitedCall::get_of_pieces, "in LAPI_Getv"},
                                                      {WaitedCall::message_of_pieces, "in LAPI_Amsendv"}};
  for (const auto& [call, where] : cases) {
    TaskPages::Words words;
    words.process = static_cast<std::uint32_t>(getpid());
    words.waits = {{static_cast<std::uint32_t>(call), 0, 3, -1}};
    ContainerNumbers elsewhere;
    const TaskStanding standing = standing_of(TaskProcess{}, words, false, elsewhere);
    EXPECT_EQ(standing.where, where);
    EXPECT_EQ(standing.why, "task 3 takes no more");
  }
}

TEST(StandingOf, CallsNothingDeadThatItCannotLookAt) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::string place = place_of(getpid());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(place, "not in LAPI_Init yet");
}

TEST(ContainerNumbers, AreOfProcessesThatHaveAnotherOneHere) {
  const test::TemporaryFolder folder;
  const auto add = [&](const std::string& process, const std::string& numbers) {
    std::filesystem::create_directory(folder.path(process));
    folder.write(process + "/status", "Name:\tsleep\nNSpid:" + numbers + "\nThreads:\t1\n");
  };
  add("11", "\t11");
  add("12", "\t12\t7");
  add("13", "\t13\t8\t1");
  ContainerNumbers numbers(folder.path());
  for (const std::uint32_t number : {7, 1}) EXPECT_TRUE(numbers.contains(number));
  for (const std::uint32_t number : {11, 12, 13, 8}) EXPECT_FALSE(numbers.contains(number));
  add("14", "\t14\t9");
  EXPECT_FALSE(numbers.contains(9)) << "all processes are looked at once more";
}

}  // namespace
}  // namespace openlapi
