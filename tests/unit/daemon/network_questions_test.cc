#include "control/daemon/tables/network_questions.h"

#include <gtest/gtest.h>

#include <deque>
#include <tuple>

namespace openlapi::daemon {
namespace {

using Nodes = std::vector<std::uint32_t>;

// Asked of the daemon of n0; n2 is lost.
class NetworkQuestionsTest : public ::testing::Test {
 protected:
  NetworkQuestionsTest()
      : universe_({{NodeState::kMember, 0, 0, 0, 1, "inky"},
                   {NodeState::kMember, 0, 0, 0, 1, "pinky"},
                   {NodeState::kLost, 0, 0, 0, 1, "blinky"}},
                  0, 0),
        questions_(universe_, {.ask =
                                   [this](const Nodes& nodes, std::uint32_t number, const NetworkAction& action) {
                                     asked_.push_back({nodes, number, action});
                                   },
                               .answer =
                                   [this](std::uint64_t tool, const TablesMessage& message) {
                                     answers_.push_back({tool, message});
                                   },
                               .random = [] { return std::uint64_t{99}; }}) {}

  static NetworkTable table() { return {"7", 1, 2, {{0, 0, 1, "sn0", ""}, {1, 1, 2, "sn0", ""}}}; }
  static WindowState state(std::uint32_t task) { return {"7", 2, {task, task, task + 1, "sn0", ""}, 0}; }

  struct Asked {
    Nodes nodes{};
    std::uint32_t number = 0;
    NetworkAction action{};
    bool operator==(const Asked&) const = default;
  };
  UniverseTable universe_;
  std::deque<Asked> asked_{};
  std::vector<std::pair<std::uint64_t, TablesMessage>> answers_{};
  NetworkQuestions questions_;
};

TEST_F(NetworkQuestionsTest, ATableIsLoadedOnItsNodes) {
  EXPECT_TRUE(questions_.take(5, LoadRequest{table()}));
  NetworkTable loaded = table();
  loaded.identity = 99;
  ASSERT_EQ(asked_.size(), 1U);
  EXPECT_EQ(asked_[0], (Asked{{0, 1}, 1, LoadTable{loaded}}));
  questions_.answered(1, 1, {"", {state(1)}});
  questions_.answered(1, 1, {"", {state(1)}});  // once is enough
  questions_.answered(2, 1, {"", {state(1)}});  // it was not asked
  EXPECT_TRUE(answers_.empty());
  questions_.answered(0, 1, {"", {state(0)}});
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].first, 5U);
  EXPECT_EQ(answers_[0].second, (TablesMessage{"", {state(0), state(1)}}));
  EXPECT_EQ(asked_.size(), 1U);
}

TEST_F(NetworkQuestionsTest, OnAllNodesOrOnNone) {
  questions_.take(5, LoadRequest{table()});
  questions_.answered(1, 1, {"window taken", {}});
  EXPECT_TRUE(answers_.empty());
  questions_.answered(0, 1, {"", {state(0)}});
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].second, (TablesMessage{"n1 (pinky): window taken", {}}));
  ASSERT_EQ(asked_.size(), 2U);
  EXPECT_EQ(asked_[1], (Asked{{0, 1}, 0, UnloadTable{"7", 99}}));
}

TEST_F(NetworkQuestionsTest, ALostDaemonIsAnAnswer) {
  questions_.take(5, LoadRequest{table()});
  questions_.answered(0, 1, {"", {state(0)}});
  questions_.node_lost(1);
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].second.failure, "n1 (pinky): its daemon is lost");
  EXPECT_EQ(asked_.size(), 2U);
}

TEST_F(NetworkQuestionsTest, WhatAToolLoadsAndDoesNotWaitForIsTakenBack) {
  questions_.take(5, LoadRequest{table()});
  questions_.tool_gone(4);
  EXPECT_EQ(asked_.size(), 1U);
  questions_.tool_gone(5);
  ASSERT_EQ(asked_.size(), 2U);
  EXPECT_EQ(asked_[1], (Asked{{0, 1}, 0, UnloadTable{"7", 99}}));
  questions_.answered(0, 1, {"", {state(0)}});
  questions_.answered(1, 1, {"", {state(1)}});
  EXPECT_TRUE(answers_.empty());
}

TEST_F(NetworkQuestionsTest, MistakesAreAnsweredAtOnce) {
  NetworkTable wrong = table();
  wrong.tasks = 3;
  questions_.take(5, LoadRequest{wrong});
  wrong = table();
  wrong.windows[1].node = 2;
  questions_.take(6, LoadRequest{wrong});
  EXPECT_TRUE(asked_.empty());
  ASSERT_EQ(answers_.size(), 2U);
  EXPECT_EQ(answers_[0].second.failure, "task 2 has no window");
  EXPECT_EQ(answers_[1].second.failure, "n2 is not in the universe");
  EXPECT_FALSE(questions_.take(5, HaltMessage{}));
}

TEST_F(NetworkQuestionsTest, AllThatLiveAreAskedToReadAndUnload) {
  EXPECT_TRUE(questions_.take(5, TablesRequest{"7"}));
  EXPECT_TRUE(questions_.take(6, UnloadRequest{"7"}));
  ASSERT_EQ(asked_.size(), 2U);
  EXPECT_EQ(asked_[0], (Asked{{0, 1}, 1, ReadTables{"7"}}));
  EXPECT_EQ(asked_[1], (Asked{{0, 1}, 2, UnloadTable{"7", 0}}));
  questions_.answered(0, 2, {"task 0 is running (process 5)", {}});
  questions_.answered(1, 2, {"", {state(1)}});
  questions_.answered(1, 1, {"", {state(1)}});
  questions_.answered(0, 1, {"", {state(0)}});
  ASSERT_EQ(answers_.size(), 2U);
  EXPECT_EQ(answers_[0].second, (TablesMessage{"n0 (inky): task 0 is running (process 5)", {state(1)}}));
  EXPECT_EQ(answers_[1].second, (TablesMessage{"", {state(0), state(1)}}));
  EXPECT_EQ(asked_.size(), 2U);
}

TEST_F(NetworkQuestionsTest, CleaningAsksAllNodesAndNamesThoseThatCannot) {
  EXPECT_TRUE(questions_.take(5, CleanRequest{}));
  ASSERT_EQ(asked_.size(), 1U);
  EXPECT_EQ(asked_[0], (Asked{{0, 1}, 1, CleanNode{}}));
  questions_.answered(1, 1, {"", {}});
  EXPECT_TRUE(answers_.empty());
  questions_.answered(0, 1, {"job key 7: task 0 is running (process 5)", {}});
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].second, (TablesMessage{"n0 (inky): job key 7: task 0 is running (process 5)", {}}));
}

TEST_F(NetworkQuestionsTest, ADaemonThatDoesNotAnswerIsNamed) {
  const NetworkQuestions::Time start{};
  questions_.tick(start);
  EXPECT_EQ(questions_.deadline(), std::nullopt);
  questions_.take(5, CleanRequest{});
  questions_.tick(start);
  EXPECT_EQ(questions_.deadline(), start + kNodeAnswerTime);
  questions_.answered(0, 1, {"", {}});
  questions_.tick(start + kNodeAnswerTime - std::chrono::nanoseconds(1));
  EXPECT_TRUE(answers_.empty());
  questions_.tick(start + kNodeAnswerTime);
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(
      answers_[0].second.failure,
      "no answer after 10 s from n1 (pinky): the daemon there (lamd), or one on the way, hangs or is stopped; tkill "
      "there ends it");
  EXPECT_EQ(questions_.deadline(), std::nullopt);
  questions_.answered(1, 1, {"", {}});  // it goes on
  EXPECT_EQ(answers_.size(), 1U);
}

TEST_F(NetworkQuestionsTest, WhatNotAllHaveAnsweredInTimeIsTakenBack) {
  questions_.take(5, LoadRequest{table()});
  questions_.tick({});
  questions_.answered(1, 1, {"", {state(1)}});
  questions_.tick(NetworkQuestions::Time{} + kNodeAnswerTime);
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_TRUE(answers_[0].second.windows.empty());
  ASSERT_EQ(asked_.size(), 2U);
  EXPECT_EQ(asked_[1], (Asked{{0, 1}, 0, UnloadTable{"7", 99}}));
}

TEST(SilentNodesTest, AFewAreNamed) {
  const UniverseTable universe(std::vector<UniverseNode>(200, {NodeState::kMember, 0, 0, 0, 1, "host"}), 0, 0);
  std::string failure;
  NetworkQuestions questions(universe,
                             {.ask = [](const Nodes&, std::uint32_t, const NetworkAction&) {},
                              .answer = [&](std::uint64_t, const TablesMessage& message) { failure = message.failure; },
                              .random = [] { return std::uint64_t{99}; }});
  questions.take(5, CleanRequest{});
  questions.answered(0, 1, {"", {}});
  questions.tick({});
  questions.tick(NetworkQuestions::Time{} + kNodeAnswerTime);
  EXPECT_TRUE(
      failure.starts_with("no answer after 10 s from n1 (host), n2 (host), n3 (host), n4 (host), n5 (host) and "
                          "194 more: "))
      << failure;
}

TEST_F(NetworkQuestionsTest, AnAnswerIsBounded) {
  questions_.take(5, TablesRequest{""});
  questions_.answered(0, 1, {"", std::vector<WindowState>(100000, state(0))});
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].second, (TablesMessage{"there are more windows than one answer holds; name a job key", {}}));
  questions_.answered(1, 1, {"", {state(1)}});
  EXPECT_EQ(answers_.size(), 1U);
}

}  // namespace
}  // namespace openlapi::daemon
