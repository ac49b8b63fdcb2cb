#include "control/launch/task_standing.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace openlapi
