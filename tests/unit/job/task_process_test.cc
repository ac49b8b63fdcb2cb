#include "control/job/node/task_process.h"

#include <chrono>

#include "tests/unit/job/scripted_task.h"

namespace openlapi {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::minutes kLong{5};  // nothing here waits for it

class TaskProcessTest : public testing::Test {
 protected:
  ~TaskProcessTest() override { ScriptedTask::remove(process_); }
  void start(int status, bool exits) {
    task_ = ScriptedTask(3, status, exits);
    process_ = task_.take_process();
  }
  void end_in_order() { task_.end_in_order(); }

  ScriptedTask task_{};
  TaskProcess process_{};
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
