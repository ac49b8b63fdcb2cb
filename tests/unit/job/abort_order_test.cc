#include "control/job/node/abort_order.h"

#include <string>
#include <vector>

#include "tests/unit/job/scripted_task.h"

namespace openlapi::jobs {
namespace {

constexpr std::chrono::minutes kLong{5};  // nothing here waits for it

class AbortOrderTest : public testing::Test {
 protected:
  ~AbortOrderTest() override {
    for (TaskProcess& task : tasks_) ScriptedTask::remove(task);
  }
  // A task that is on its way out.
  void add_ending(std::uint32_t number, int status) {
    ScriptedTask task(number, status, true);
    task.end_in_order();
    tasks_.push_back(task.take_process());
  }
  std::string told(const std::vector<TaskAborted>& aborts, bool are_first = true) {
    std::string told;
    tell_aborts(tasks_, aborts, std::chrono::steady_clock::now() + kLong, are_first,
                {.ended = [&](const TaskProcess& task) { told += "end " + std::to_string(task.number()) + ";"; },
                 .aborted = [&](const TaskAborted& by) { told += "abort " + std::to_string(by.task) + ";"; }});
    return told;
  }

  std::vector<TaskProcess> tasks_{};
};

TEST_F(AbortOrderTest, WhoFailsComesBeforeWhoAbortsForIt) {
  add_ending(5, 0);
  add_ending(7, 3);
  EXPECT_EQ(told({{6, 1, "lost"}, {9, 1, "lost, too"}}), "end 7;abort 6;abort 9;");
}

TEST_F(AbortOrderTest, OfWhoAbortsTheAbortComesFirst) {
  add_ending(6, 1);
  add_ending(7, 3);
  EXPECT_EQ(told({{6, 1, "lost"}}), "end 7;abort 6;");
  EXPECT_FALSE(tasks_[0].has_ended()) << "nor is its end waited for";
}

TEST_F(AbortOrderTest, AfterTheFirstAbortsNobodyIsWaitedFor) {
  add_ending(7, 3);
  EXPECT_EQ(told({{6, 1, "lost"}}, false), "abort 6;");
  EXPECT_FALSE(tasks_[0].has_ended());
}

}  // namespace
}  // namespace openlapi::jobs
