// A job whose nodes are a script: what lapirun asks of them, says, and ends with.
#include "control/job/origin/job.h"

#include <gtest/gtest.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace openlapi::jobs {
namespace {

class ScriptedLink final : public NodeLink {
 public:
  // One step a round; `step` may call the listener.
  using Step = std::function<void(Listener& listener)>;

  explicit ScriptedLink(std::deque<Step> steps) : steps_(std::move(steps)) {}

  bool start(StartTasks job, Listener& listener, std::string& error) override {
    started = std::move(job);
    listener_ = &listener;
    error = refusal;
    return refusal.empty();
  }
  void signal(int signal) override { asked.push_back("signal " + std::to_string(signal)); }
  void end_tasks() override { asked.push_back("end"); }
  void tell(std::size_t, const JobBody&) override {}
  void tell_all(const JobBody& body) override {
    if (std::holds_alternative<AskStandings>(body)) asked.push_back("standings");
  }
  void leave(bool in_order) override {
    asked.push_back(in_order ? "leave" : "break");
    if (on_leave) on_leave();
  }
  bool has_left() const override { return true; }
  std::string name_of(std::size_t node) const override { return node == 0 ? "" : "n1 (pinky)"; }
  bool has_gone(std::size_t) const override { return false; }
  bool carries_input() const override { return false; }
  void watch(PollSet&) override {}
  Deadline deadline() const override { return std::chrono::steady_clock::now(); }
  void check() override {
    if (steps_.empty()) return;
    const Step step = std::move(steps_.front());
    steps_.pop_front();
    step(*listener_);
  }

  StartTasks started{};
  std::string refusal{};
  std::vector<std::string> asked{};
  std::function<void()> on_leave{};

 private:
  std::deque<Step> steps_;
  Listener* listener_ = nullptr;
};

ScriptedLink::Step say(std::size_t node, JobBody body) {
  return [node, body = std::move(body)](auto& listener) { listener.take(node, body); };
}

ScriptedLink::Step finish(std::size_t node) { return say(node, TasksFinished{}); }

using Asked = std::vector<std::string>;

// Tasks 0 and 1 on a node without a name, task 2 on n1.
class JobTest : public testing::Test {
 protected:
  void run(ScriptedLink& link) {
    options.command = {"program", ""};
    testing::internal::CaptureStderr();
    SignalSource signals;
    Job job(options, {{0, "inky", {0, 1}, 0}, {1, "pinky", {2}, 0}}, signals, link);
    status = job.run(TaskEnvironment{}, "/somewhere");
    said = testing::internal::GetCapturedStderr();
  }

  JobOptions options{};
  int status = -1;
  std::string said{};
};

TEST_F(JobTest, SucceedsWhenAllNodesHaveFinished) {
  ScriptedLink link({say(0, TasksStarted{{10, 11}}), say(1, TasksStarted{{12}}), say(0, TaskEnded{0, 10, 0, 0}),
                     say(0, TaskEnded{1, 11, 0, 0}), finish(0), say(1, TaskEnded{2, 12, 0, 0}), finish(1)});
  run(link);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(said, "");
  EXPECT_EQ(link.asked, Asked{"leave"});
  EXPECT_EQ(unpack_words(link.started.arguments), options.command);
  EXPECT_EQ(link.started.directory, "/somewhere");
  EXPECT_EQ(link.started.nodes.size(), 2U);
}

TEST_F(JobTest, EndsTheOthersWithTheFirstThatFails) {
  ScriptedLink link({say(1, TaskEnded{2, 12, 7, 0}), say(0, TaskEnded{0, 10, 0, 15}), say(0, TaskEnded{1, 11, 0, 15}),
                     finish(0), finish(1)});
  run(link);
  EXPECT_EQ(status, 7);
  EXPECT_EQ(said, "lapirun: task 2 (process 12) on n1 (pinky) exited with status 7; ending the others\n");
  EXPECT_EQ(link.asked, (Asked{"end", "leave"}));
}

TEST_F(JobTest, ProgramsOfLamexecEndByThemselves) {
  options.launcher = Launcher::kLamexec;
  ScriptedLink link({say(0, TaskEnded{0, 10, 7, 0}), say(0, TaskEnded{1, 11, 0, 9}), say(1, TaskEnded{2, 12, 0, 0}),
                     finish(0), finish(1)});
  run(link);
  EXPECT_EQ(status, 7);
  EXPECT_EQ(said,
            "lamexec: program 0 (process 10) exited with status 7\n"
            "lamexec: program 1 (process 11) was killed by signal 9 (Killed)\n");
  EXPECT_EQ(link.asked, Asked{"leave"});
}

TEST_F(JobTest, AnAbortNeverSucceeds) {
  ScriptedLink link({say(1, TaskAborted{2, 256, "asked to"}), finish(0), finish(1)});
  run(link);
  EXPECT_EQ(status, kExitOwnFailure);
  EXPECT_EQ(said, "lapirun: task 2 on n1 (pinky) ends the job with status 256: asked to\n");
  EXPECT_EQ(link.asked, (Asked{"end", "leave"}));
}

// A task ends in order, without ever having been connected, while another one aborts.
TEST_F(JobTest, AnAbortIsTheReasonWhenItComesFirst) {
  ScriptedLink link({say(1, TaskAttended{2, 1}), say(1, TaskAborted{2, 3, "asked to"}), say(0, TaskEnded{0, 10, 0, 0}),
                     say(1, TaskEnded{2, 12, 3, 0}), say(0, TaskEnded{1, 11, 0, 15}), finish(0), finish(1)});
  run(link);
  EXPECT_EQ(status, 3);
  EXPECT_EQ(said, "lapirun: task 2 on n1 (pinky) ends the job with status 3: asked to\n");
  EXPECT_EQ(link.asked, (Asked{"end", "leave"}));
}

TEST_F(JobTest, AnAbortIsTheReasonWhenNobodyWaitsForWhoHasEnded) {
  ScriptedLink link({say(0, TaskAttended{0, 1}), say(0, TaskAttended{0, 0}), say(0, TaskEnded{0, 10, 0, 0}),
                     say(1, TaskAttended{2, 1}), say(1, TaskAborted{2, 3, "asked to"}), say(1, TaskEnded{2, 12, 3, 0}),
                     say(0, TaskEnded{1, 11, 0, 15}), finish(0), finish(1)});
  run(link);
  EXPECT_EQ(status, 3);
  EXPECT_EQ(said, "lapirun: task 2 on n1 (pinky) ends the job with status 3: asked to\n");
}

TEST_F(JobTest, ATaskThatNeverComesEndsThoseThatWait) {
  ScriptedLink link({say(0, TaskEnded{0, 10, 0, 0}), say(1, TaskAttended{2, 1}), finish(0), finish(1)});
  run(link);
  EXPECT_EQ(status, kExitOwnFailure);
  EXPECT_EQ(said,
            "lapirun: task 0 ended (status 0) before LAPI_Init, in which task 2 on n1 (pinky) waits for every task: "
            "ending the job\n");
  EXPECT_EQ(link.asked, (Asked{"end", "leave"}));
}

TEST_F(JobTest, ANodeThatRefusesBreaksTheJobOff) {
  ScriptedLink link({say(1, TasksRefused{kExitNotFound, "no such program"}), finish(0), finish(1)});
  run(link);
  EXPECT_EQ(status, kExitNotFound);
  EXPECT_EQ(said, "lapirun: n1 (pinky): no such program\n");
  EXPECT_EQ(link.asked, Asked{"break"});
}

TEST_F(JobTest, TasksOfAJobThatIsBrokenOffDoNotWaitForWhoReadsWhy) {
  int errors[2];
  ASSERT_EQ(pipe2(errors, O_NONBLOCK), 0);
  const int before = dup(STDERR_FILENO);
  std::vector<char> bytes(1 << 20);
  ASSERT_GT(write(errors[1], bytes.data(), bytes.size()), 0);  // until it is full
  ScriptedLink link({say(1, TasksRefused{127, "no such program"})});
  link.on_leave = [&] {
    while (read(errors[0], bytes.data(), bytes.size()) > 0) {
    }
  };
  options.command = {"program"};
  dup2(errors[1], STDERR_FILENO);
  SignalSource signals;
  Job job(options, {{0, "inky", {0, 1}, 0}, {1, "pinky", {2}, 0}}, signals, link);
  status = job.run(TaskEnvironment{}, "/somewhere");
  dup2(before, STDERR_FILENO);
  EXPECT_EQ(link.asked, Asked{"break"});
  EXPECT_EQ(status, 127);
  const ssize_t count = read(errors[0], bytes.data(), bytes.size());
  EXPECT_EQ(std::string(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))),
            "lapirun: n1 (pinky): no such program\n");
  for (const int descriptor : {before, errors[0], errors[1]}) close(descriptor);
}

TEST_F(JobTest, SaysWhyItCannotBeSent) {
  ScriptedLink link({});
  link.refusal = "too long";
  run(link);
  EXPECT_EQ(status, kExitOwnFailure);
  EXPECT_EQ(said, "lapirun: too long\n");
  EXPECT_EQ(link.asked, Asked{});
}

TEST_F(JobTest, ANodeThatIsCutOffIsAFailureAndEndsNothing) {
  ScriptedLink link({[](auto& listener) { listener.take_cut_off(1); }, say(0, TaskEnded{0, 10, 0, 0}),
                     say(0, TaskEnded{1, 11, 0, 0}), finish(0)});
  run(link);
  EXPECT_EQ(status, kExitOwnFailure);
  EXPECT_TRUE(said.starts_with("lapirun: n1 (pinky) is cut off")) << said;
  EXPECT_EQ(link.asked, Asked{"leave"});
}

TEST_F(JobTest, TellsWhereTasksStandWhenTheTimeIsOver) {
  options.timeout = std::chrono::milliseconds(0);
  ScriptedLink link({say(0, TaskStandings{{{0, 10, 3, "in LAPI_Gfence", ""}, {1, 11, 3, "in LAPI_Gfence", ""}}}),
                     say(1, TaskStandings{{{2, 12, TaskStandings::kNoTime, "outside of LAPI", ""}}}), finish(0),
                     finish(1)});
  run(link);
  EXPECT_EQ(status, kExitTimeout);
  EXPECT_EQ(said,
            "lapirun: the time of --timeout is over; ending the tasks\n"
            "lapirun: tasks 0-1: in LAPI_Gfence for 3 s\n"
            "lapirun: task 2 (process 12) on n1 (pinky): outside of LAPI\n");
  EXPECT_EQ(link.asked, (Asked{"standings", "end", "leave"}));
}

TEST_F(JobTest, TheTimeIsOfTasksAndNotOfWhoReadsTheirOutput) {
  options.timeout = std::chrono::seconds(1);
  ScriptedLink link({say(0, TaskEnded{0, 10, 0, 0}), say(0, TaskEnded{1, 11, 0, 0}), say(1, TaskEnded{2, 12, 0, 0}),
                     [](auto&) { std::this_thread::sleep_for(std::chrono::milliseconds(1100)); }, finish(0),
                     finish(1)});
  run(link);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(said, "");
}

TEST_F(JobTest, TheSecondSignalKillsAndTheThirdDoesNotWait) {
  const ScriptedLink::Step interrupt = [](auto&) { raise(SIGINT); };
  ScriptedLink link({interrupt, interrupt, interrupt});
  run(link);
  EXPECT_EQ(status, kExitSignalBase + SIGINT);
  EXPECT_EQ(said, "");
  EXPECT_EQ(link.asked, (Asked{"signal 2", "signal 9", "break"}));
}

TEST_F(JobTest, AfterTheTasksEndOneSignalIsEnough) {
  ScriptedLink link({say(0, TaskEnded{0, 10, 0, 0}), say(0, TaskEnded{1, 11, 0, 0}), say(1, TaskEnded{2, 12, 0, 0}),
                     [](auto&) { raise(SIGTERM); }});
  run(link);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(link.asked.back(), "leave");
}

}  // namespace
}  // namespace openlapi::jobs
