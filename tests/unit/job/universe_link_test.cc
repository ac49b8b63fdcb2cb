// How long lapirun waits for the nodes of a job, and whom it names then. The daemon here is a script, and the time the
// test's.
#include "control/job/origin/universe_link.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "control/job/messages/message_to.h"
#include "control/job/messages/return_way.h"

namespace openlapi::jobs {
namespace {

using daemon::JobAction;
using std::chrono::seconds;

std::chrono::steady_clock::time_point time_of_test;

class Heard final : public NodeLink::Listener {
 public:
  void take(std::size_t, JobBody) override {}
  void take_cut_off(std::size_t node) override { said += "cut off " + std::to_string(node) + ";"; }
  void break_off(int status, const std::string& why) override {
    said += "end with " + std::to_string(status) + (why.empty() ? "" : ": " + why) + ";";
  }
  void note(const std::string& text) override { said += text + ";"; }
  void report_phase(const char*) override {}

  std::string said{};
};

// lapirun is on n0; the job's nodes are n0, n2 and n18, whose daemon is linked with that of n1.
class UniverseLinkTest : public testing::Test {
 protected:
  UniverseLinkTest() {
    time_of_test = begin_;
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    daemon_ = connection(ends[0]);
    link_ = std::make_unique<UniverseLink>(connection(ends[1]), 0x7f000001, [] { return time_of_test; });
  }
  void start(bool outlive_daemons = false) {
    StartTasks job;
    job.directory = "/";
    job.arguments = {'p', 0};
    job.outlive_daemons = outlive_daemons ? 1 : 0;
    job.nodes = {{0, "inky", {0}, 0}, {2, "pinky", {1}, 0}, {18, "clyde", {2}, 0}};
    std::string error;
    ASSERT_TRUE(link_->start(job, heard_, error)) << error;
    for (const std::uint32_t node : {0, 2, 18}) say(node, JobAction::kData, encode(TasksStarted{{4711}}));
    ASSERT_TRUE(daemon_.serve());
    const auto bytes = daemon_.stream().next();
    const auto message = bytes ? daemon::decode(*bytes) : std::nullopt;
    const auto body = message ? decode_body(std::get<daemon::JobMessage>(*message).body) : std::nullopt;
    ASSERT_TRUE(body && std::holds_alternative<StartTasks>(*body));
    return_to_ = std::get<StartTasks>(*body).return_to;
  }
  // The daemon says that of the node.
  void say(std::uint32_t node, std::uint8_t action, daemon::MessageBytes body = {}) {
    daemon::JobMessage message = message_to({}, std::move(body), action);
    message.from = node;
    daemon_.send(message);
    ASSERT_TRUE(daemon_.flush());
    run_round(0);
  }
  void lose_way_to_n18() { lose(JobAction::kWayLost, "n1 is lost"); }
  void lose_n18() { lose(JobAction::kCutOff, "n18 is lost"); }
  void lose(std::uint8_t action, const std::string& why) {
    say(18, action, {why.begin(), why.end()});
    EXPECT_EQ(take_said().find(why + ": the job goes on without it"), 0u);
  }
  void go_to(seconds since_start) {
    time_of_test = begin_ + since_start;
    run_round(0);
  }
  void run_round(int milliseconds) {
    PollSet poll_set;
    link_->watch(poll_set);
    ASSERT_TRUE(daemon_.flush());
    poll_set.wait(milliseconds);
    link_->check();
    ASSERT_TRUE(daemon_.flush());
  }
  // Its helper comes to lapirun, which has answered then.
  daemon::Connection return_from_n18() {
    daemon::Connection way = return_way(begin_to_return(return_to_), return_to_, daemon::SealedStream::Role::kConnects);
    way.send(message_to({}, encode(Return{18, 0})));
    while (!way.stream().next() && way.serve()) run_round(1);
    return way;
  }
  std::string take_said() { return std::exchange(heard_.said, ""); }

  static daemon::Connection connection(int socket) {
    return {FileDescriptor(socket), std::make_unique<daemon::MessageStream>()};
  }

  Heard heard_{};
  daemon::Connection daemon_{{}, nullptr};
  std::unique_ptr<UniverseLink> link_{};
  ReturnAddress return_to_{};
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

constexpr char kNotReached[] = "end with 1: n18 (clyde): its lamtasks is not reached any more, and its tasks with it;";

TEST_F(UniverseLinkTest, OfAHelperBeyondALostDaemonTheEndIsLate) {
  start();
  lose_way_to_n18();
  go_to(kLateReturnTime - seconds(1));
  EXPECT_EQ(take_said(), "");
  EXPECT_EQ(link_->deadline(), begin_ + kLateReturnTime);
  go_to(kLateReturnTime);
  EXPECT_EQ(take_said(), kNotReached);
}

TEST_F(UniverseLinkTest, WhoseOwnDaemonIsLostHasLessTime) {
  start();
  lose_way_to_n18();
  go_to(seconds(2));
  lose_n18();
  go_to(kReturnTime + seconds(1));
  EXPECT_EQ(take_said(), "");
  go_to(kReturnTime + seconds(2));
  EXPECT_EQ(take_said(), kNotReached);
}

TEST_F(UniverseLinkTest, ThatItsOwnDaemonIsLostGivesAHelperNoMoreTime) {
  start();
  lose_way_to_n18();
  go_to(kLateReturnTime - seconds(1));
  lose_n18();
  go_to(kLateReturnTime);
  EXPECT_EQ(take_said(), kNotReached);
}

TEST_F(UniverseLinkTest, ANodeThatIsRemovedIsNotWaitedFor) {
  start();
  lose_way_to_n18();
  say(18, JobAction::kGone, {'w', 'h', 'y'});
  EXPECT_EQ(take_said(), "end with 1: n18 (clyde): why;");
}

TEST_F(UniverseLinkTest, WhoIsAwaitedOwesNoAnswerToASignal) {
  start();
  lose_way_to_n18();
  link_->signal(SIGTERM);
  for (seconds time(1); time < kLateReturnTime; ++time) {
    for (const std::uint32_t node : {0, 2}) say(node, JobAction::kData, encode(Present{}));
    go_to(time);
  }
  EXPECT_EQ(take_said(), "");
  go_to(kLateReturnTime);
  EXPECT_EQ(take_said(), kNotReached);
}

TEST_F(UniverseLinkTest, WhoIsAwaitedMayEndLate) {
  start();
  lose_way_to_n18();
  link_->end_tasks();
  for (const std::uint32_t node : {0, 2}) say(node, JobAction::kData, encode(TasksFinished{}));
  for (seconds time(1); time < kLateReturnTime; ++time) go_to(time);
  EXPECT_EQ(take_said(), "");
  go_to(kLateReturnTime);
  EXPECT_EQ(take_said(), kNotReached);
}

TEST_F(UniverseLinkTest, WhoIsAwaitedIsNamedApartFromWhoHangs) {
  start();
  lose_way_to_n18();
  link_->end_tasks();
  say(0, JobAction::kData, encode(TasksFinished{}));
  go_to(seconds(10));
  EXPECT_EQ(take_said(),
            "no answer within 10 s from n2 (pinky): the daemon there (lamd) or lamtasks hangs or is stopped; its tasks "
            "may go on;not reached, as a daemon is lost: n18 (clyde); its tasks may go on;end with 1;");
}

TEST_F(UniverseLinkTest, WhoHasReturnedHasItsTimeToEnd) {
  start();
  lose_way_to_n18();
  link_->end_tasks();
  for (const std::uint32_t node : {0, 2}) say(node, JobAction::kData, encode(TasksFinished{}));
  go_to(seconds(9));
  const daemon::Connection way = return_from_n18();
  go_to(seconds(18));
  EXPECT_EQ(take_said(), "");
  go_to(seconds(19));
  EXPECT_EQ(
      take_said(),
      "no answer within 10 s from n18 (clyde): the daemon there (lamd) or lamtasks hangs or is stopped; its tasks "
      "may go on;end with 1;");
}

TEST_F(UniverseLinkTest, WhoDoesNotReturnGoesOnAloneIfThatIsWanted) {
  start(true);
  lose_way_to_n18();
  go_to(kLateReturnTime);
  EXPECT_EQ(take_said(), "cut off 2;");
}

}  // namespace
}  // namespace openlapi::jobs
