#include "control/daemon/session/tool_client.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "control/daemon/messages/connection.h"
#include "control/daemon/session/session_folder.h"
#include "tests/unit/control/temporary_folder.h"

namespace {

// Stands for a time-out that is over, once.
std::function<void()> time_is_over;

}  // namespace

// In place of libc's.
extern "C" int poll(pollfd* watched, nfds_t count, int milliseconds) {
  if (const auto over = std::exchange(time_is_over, nullptr)) return over(), 0;
  const timespec limit{milliseconds / 1000, milliseconds % 1000 * 1'000'000L};
  return ppoll(watched, count, milliseconds < 0 ? nullptr : &limit, nullptr);
}

namespace openlapi::daemon {
namespace {

class ToolClientTest : public testing::Test {
 protected:
  // The daemon's end of the connection.
  Connection accept_tool() {
    return {FileDescriptor(accept(listener_.get(), nullptr, nullptr)), std::make_unique<MessageStream>()};
  }
  static void answer(Connection& daemon) {
    daemon.send(OutcomeMessage{"taken"});
    EXPECT_TRUE(daemon.flush());
  }
  static std::string text_of(const std::optional<DaemonMessage>& message) {
    const auto* outcome = message ? std::get_if<OutcomeMessage>(&*message) : nullptr;
    return outcome == nullptr ? "no answer" : outcome->failure;
  }

  test::TemporaryFolder parent_{};
  SessionFolder folder_{parent_.path("session")};
  FileDescriptor listener_ = folder_.listen_to_tools();
  ToolClient client_{parent_.path("session")};
  Connection daemon_ = accept_tool();
};

// poll() is asked for an hour at a time.
TEST_F(ToolClientTest, WaitsForAnAnswerForHours) {
  time_is_over = [this] { answer(daemon_); };
  EXPECT_EQ(text_of(client_.ask_within(ShrinkMessage{0, 7200, 0}, std::chrono::hours(2))), "taken");
  EXPECT_EQ(time_is_over, nullptr) << "nobody has waited";
}

TEST_F(ToolClientTest, GivesUpAtItsLimit) {
  EXPECT_EQ(text_of(client_.ask_within(UniverseRequest{0}, std::chrono::seconds(0))), "no answer");
}

// One that ends may have gone when the next question comes.
TEST_F(ToolClientTest, HearsTheLastWordsOfADaemonThatHasEnded) {
  answer(daemon_);
  daemon_.close();
  EXPECT_NO_THROW(client_.tell(HaltMessage{1000}, std::chrono::seconds(10)));
}

TEST_F(ToolClientTest, NamesADaemonThatSaysNothing) {
  ToolClient client(parent_.path("session"), std::chrono::seconds(1));
  try {
    client.ask_here<UniverseMessage>(UniverseRequest{0});
    FAIL();
  } catch (const std::runtime_error& wrong) {
    EXPECT_EQ(std::string(wrong.what()).find("no answer after 1 s from the daemon here (lamd on "), 0u) << wrong.what();
  }
}

// What is asked meanwhile is answered, and then the news come.
TEST_F(ToolClientTest, WaitsForNewsAsLongAsTheDaemonAnswersElse) {
  ToolClient client(parent_.path("session"), std::chrono::seconds(1));
  Connection waiting = accept_tool();
  std::thread daemon([&] {
    pollfd next{listener_.get(), POLLIN, 0};
    poll(&next, 1, -1);
    Connection other = accept_tool();
    other.send(UniverseMessage{0, {{}}, {0}});
    EXPECT_TRUE(other.flush());
    answer(waiting);
  });
  EXPECT_EQ(client.await_news<OutcomeMessage>(MatrixRequest{7, 0, 0}).failure, "taken");
  daemon.join();
}

TEST_F(ToolClientTest, SaysThatADaemonHasEndedWithoutAnAnswer) {
  daemon_.close();
  EXPECT_THROW(client_.ask(UniverseRequest{0}, std::chrono::seconds(10)), std::runtime_error);
}

}  // namespace
}  // namespace openlapi::daemon
