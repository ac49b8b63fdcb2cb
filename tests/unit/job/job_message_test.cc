#include "control/job/messages/job_message.h"

#include <gtest/gtest.h>

#include "control/base/adapter_event.h"

namespace openlapi::jobs {
namespace {

StartTasks small_job() {
  return {"name",
          0x0807060504030201,
          0x1817161514131211,
          1,
          0,
          1,
          1,
          {1, 2, {3}},
          "/tmp",
          pack_words({"prog", "a"}),
          pack_words({"A=1"}),
          {{0, "inky", {0, 2}, 2}, {2, "pinky", {1}, 2}}};
}

TEST(JobMessage, HasTheseBytes) {
  EXPECT_EQ(encode(TaskSignal{2}), (MessageBytes{2, 2, 0, 0, 0}));
  EXPECT_EQ(encode(EndTasks{}), (MessageBytes{3}));
  EXPECT_EQ(encode(TaskInput{{'a', 'b'}}), (MessageBytes{4, 2, 0, 0, 0, 'a', 'b'}));
  EXPECT_EQ(encode(OutputTaken{258, 1}), (MessageBytes{5, 2, 1, 0, 0, 1}));
  EXPECT_EQ(encode(OutputClosed{1}), (MessageBytes{7, 1}));
  EXPECT_EQ(encode(FenceDone{{3}, {9}, 2}), (MessageBytes{6, 1, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 9, 2, 0, 0, 0}));
  EXPECT_EQ(encode(TaskOutput{1, 0, {'x'}}), (MessageBytes{18, 1, 0, 0, 0, 0, 1, 0, 0, 0, 'x'}));
  EXPECT_EQ(encode(TaskEnded{1, 2, 3, 4}), (MessageBytes{20, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0}));
  EXPECT_EQ(encode(AskStandings{}), (MessageBytes{8}));
  EXPECT_EQ(encode(TaskStandings{{{1, 2, 3, "a", ""}}}),
            (MessageBytes{26, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 'a', 0, 0, 0, 0}));
  EXPECT_EQ(encode(AskPresence{}), (MessageBytes{9}));
  EXPECT_EQ(encode(Present{}), (MessageBytes{27}));
  EXPECT_EQ(encode(ModexRequest{1, 2}), (MessageBytes{32, 1, 0, 0, 0, 2, 0, 0, 0}));
  EXPECT_EQ(encode(TaskEvent{1, {7, 8}}), (MessageBytes{34, 1, 0, 0, 0, 2, 0, 0, 0, 7, 8}));
  EXPECT_EQ(encode(Return{2, 3}), (MessageBytes{28, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(encode(Returned{3}), (MessageBytes{10, 3, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(encode(Confirmed{3}), (MessageBytes{48, 3, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(encode(Passed{{2}, {7}}), (MessageBytes{49, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 7}));
  EXPECT_EQ(encode(StartTasks{"n", 1, 2, 1, 0, 1, 1, {1, 2, {3}}, "/", {'p', 0}, {}, {{2, "h", {0}, 2}}}),
            (MessageBytes{1, 1, 0, 0, 0, 'n', 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0,   0, 0, 0, 0, 0,   1, 0, 1, 1, 1,
                          0, 0, 0, 2, 0, 0,   0, 1, 0, 0, 0, 3, 1, 0, 0, 0, '/', 2, 0, 0, 0, 'p', 0, 0, 0, 0, 0,
                          1, 0, 0, 0, 2, 0,   0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 'h', 1, 0, 0, 0, 0,   0, 0, 0}));
}

TEST(JobMessage, ComesBackAsItWas) {
  const JobBody bodies[] = {small_job(),
                            TaskSignal{64},
                            EndTasks{},
                            TaskInput{{}},
                            OutputTaken{7, 1},
                            OutputClosed{0},
                            FenceDone{{}, {1, 2}},
                            TasksStarted{{5, 6}},
                            TasksRefused{127, "why"},
                            TaskOutput{3, 1, {'x'}},
                            HelperNote{"note"},
                            TaskEnded{1, 2, 0, 9},
                            TaskAttended{1, 1},
                            TaskAborted{1, 0xffffffff, "text"},
                            InputTaken{},
                            FenceData{{1, 2}, {}},
                            TasksFinished{},
                            ModexRequest{1, 2},
                            ModexAnswer{1, 2, {3}},
                            AskStandings{},
                            AskPresence{},
                            Present{},
                            Return{1, 2},
                            Returned{1},
                            ThroughLapirun{},
                            Confirmed{1},
                            Passed{{1, 2}, {3}},
                            TaskEvent{3, encode(AdapterEvent{{{{1, 2}, true}}})},
                            TaskStandings{{{1, 2, 3, "in", "why"}, {2, 3, TaskStandings::kNoTime, "out", ""}}}};
  EXPECT_EQ(std::size(bodies), std::variant_size_v<JobBody>);
  for (const JobBody& body : bodies) {
    const MessageBytes bytes = encode(body);
    const auto decoded = decode_body(bytes);
    ASSERT_TRUE(decoded.has_value()) << body.index();
    EXPECT_EQ(*decoded, body);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_FALSE(decode_body(std::span(bytes).first(length)).has_value()) << body.index() << " " << length;
    }
  }
}

TEST(JobMessage, ImpossibleOnesAreRefused) {
  const auto refused = [](auto change) {
    StartTasks job = small_job();
    change(job);
    return !decode_body(encode(job)).has_value();
  };
  EXPECT_FALSE(refused([](StartTasks&) {}));
  EXPECT_TRUE(refused([](StartTasks& job) { job.nodes[1].tasks = {0}; }));     // twice
  EXPECT_TRUE(refused([](StartTasks& job) { job.nodes[1].tasks = {3}; }));     // not all
  EXPECT_TRUE(refused([](StartTasks& job) { job.nodes[0].tasks = {2, 0}; }));  // no order
  EXPECT_TRUE(refused([](StartTasks& job) { job.nodes[0].reports_to = 1; }));  // no node of the job
  EXPECT_TRUE(refused([](StartTasks& job) { job.nodes[0].reports_to = 0; }));  // two ends
  EXPECT_TRUE(refused([](StartTasks& job) { job.nodes[1].reports_to = 0; }));  // a circle
  EXPECT_TRUE(refused([](StartTasks& job) { job.nodes.clear(); }));
  EXPECT_TRUE(refused([](StartTasks& job) { job.arguments.clear(); }));
  EXPECT_TRUE(refused([](StartTasks& job) { job.arguments.pop_back(); }));
  EXPECT_FALSE(decode_body(encode(TaskSignal{0})).has_value());
  EXPECT_FALSE(decode_body(encode(TaskSignal{65})).has_value());
  EXPECT_FALSE(decode_body(encode(TaskOutput{})).has_value());
  EXPECT_FALSE(decode_body(encode(TaskEvent{3, {1, 0}})).has_value());
  EXPECT_FALSE(decode_body(MessageBytes{99}).has_value());
  EXPECT_FALSE(decode_body({}).has_value());
  EXPECT_FALSE(decode_body(MessageBytes{6, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}).has_value());
}

TEST(JobMessage, WordsAreKept) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{}, {""}, {"a", "", "b c"}}) {
    EXPECT_EQ(unpack_words(pack_words(words)), words);
  }
  EXPECT_EQ(unpack_words({'a', 0, 'b'}), std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace openlapi::jobs
