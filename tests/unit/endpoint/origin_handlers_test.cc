// Handlers at the origin: send completion handlers and the completion handlers of gets. Once each, when the promise
// holds, never nested in one another, also for messages that are given up.
#include <gtest/gtest.h>

#include <algorithm>

#include "dataplane/layout/vector_cursor.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

int handler_tag;  // stands for the address of a handler

class OriginHandlers : public testing::Test {
 protected:
  OriginHandlers() : job_(2, small_copies()) {}

  void count_sends_of(PeerIndex task) {
    job_.task(task).host.on_send_completion = [this](const SendCompletion& completion) {
      EXPECT_EQ(completion.handler.function, &handler_tag);
      EXPECT_EQ(completion.handler.info, &sent_);
      completions_.push_back(completion);
      ++sent_;
    };
  }
  HandlerCall handler() { return {&handler_tag, &sent_}; }
  Submit put(PeerIndex target, void* sink, const void* source, std::uint64_t length) {
    return job_[0].put({target, address(sink), source, length, address(&target_), address(&origin_), 0, handler()});
  }

  // Steps and time go on until `done`, or for a minute.
  template <typename Done>
  void run_until(Done done) {
    for (int step = 0; step < 600'000 && !done(); ++step) {
      for (PeerIndex i = 0; i < 2; ++i) job_[i].progress();
      job_.clock.advance(100 * kMicrosecond);
    }
    ASSERT_TRUE(done());
  }

  Job job_;
  int target_ = 0, origin_ = 0, sent_ = 0;
  std::vector<SendCompletion> completions_;
};

TEST_F(OriginHandlers, OfAShortPutRunsInsideTheCallAfterTheOriginCounter) {
  job_.start();
  int origin_in_handler = -1;
  std::uint64_t value = 7, sink = 0;
  job_.task(0).host.on_send_completion = [&](const SendCompletion& completion) {
    ++sent_;
    origin_in_handler = origin_;
    EXPECT_EQ(completion.target, 1u);
    EXPECT_FALSE(completion.given_up);
    value = 0;
  };
  ASSERT_EQ(put(1, &sink, &value, sizeof value), Submit::accepted);
  EXPECT_EQ(sent_, 1);
  EXPECT_EQ(origin_in_handler, 1);
  EXPECT_EQ(target_, 0);
  job_.settle();
  EXPECT_EQ(sink, 7u) << "the handler may change the buffer";
  EXPECT_EQ(sent_, 1);
}

TEST_F(OriginHandlers, OfAnOperationThatCannotBeginWaitsForAStepOrAPurge) {
  job_.start();
  count_sends_of(0);
  job_[0].give_up_unbegun({1, 0, 0, handler()}, Submit::purged);
  job_[0].purge(0);  // itself: nothing is purged, and nothing else may happen
  EXPECT_EQ(sent_, 0);
  job_[0].purge(1);
  EXPECT_EQ(sent_, 1);
  job_[0].give_up_unbegun({1, 0, 0, handler()}, Submit::purged);
  job_[0].purge(1);  // again
  EXPECT_EQ(sent_, 1);
  job_[0].progress();
  EXPECT_EQ(sent_, 2);
}

TEST_F(OriginHandlers, RunsWithoutAnOriginCounter) {
  job_.start();
  count_sends_of(0);
  std::uint64_t value = 7, sink = 0;
  ASSERT_EQ(job_[0].put({1, address(&sink), &value, sizeof value, 0, 0, 0, handler()}), Submit::accepted);
  EXPECT_EQ(sent_, 1);
}

// Every way of leaving: in one packet, copied, as fragments, read by the peer, and pointed to until acknowledged.
struct Way {
  const char* name;
  bool lossy, readable;
  std::size_t reads;  // that succeed, then one fails
};

class OriginHandlersOf : public OriginHandlers, public testing::WithParamInterface<Way> {};

TEST_P(OriginHandlersOf, WhenTheHandlerRunsTheBufferIsFree) {
  const Way& way = GetParam();
  for (PeerIndex i = 0; i < 2; ++i) {
    if (way.lossy) job_.task(i).transport.make_lossy(0.1, 3 + i);
    if (way.readable) job_.task(i).transport.make_readable(way.reads);
  }
  job_.start();
  job_.task(1).transport.set_room(4);
  const std::size_t lengths[] = {0, 8, 900, 3000, 4000, 4001, 100'000, 3'000'000};
  for (const std::size_t length : lengths) {
    std::vector<unsigned char> source(length, 0x3c), sink(length, 0);
    const int before = sent_;
    job_.task(0).host.on_send_completion = [&](const SendCompletion& completion) {
      EXPECT_EQ(origin_, before + 1) << "first the counter";
      EXPECT_FALSE(completion.given_up);
      std::fill(source.begin(), source.end(), 0xff);
      ++sent_;
    };
    Submit result = Submit::busy;
    run_until([&] {
      if (result == Submit::busy) result = put(1, sink.data(), source.data(), length);
      return result == Submit::accepted;
    });
    run_until([&] { return target_ == before + 1 && sent_ == before + 1; });
    EXPECT_EQ(std::count(sink.begin(), sink.end(), 0x3c), static_cast<std::ptrdiff_t>(length)) << length;
  }
  run_until([&] { return job_[0].drained(); });
  EXPECT_EQ(sent_, 8);
  EXPECT_EQ(origin_, 8);
}

INSTANTIATE_TEST_SUITE_P(Ways, OriginHandlersOf,
                         testing::Values(Way{"packets", false, false, 0}, Way{"read", false, true, SIZE_MAX},
                                         Way{"read_fails", false, true, 2}, Way{"acknowledged", true, false, 0}),
                         [](const auto& info) { return info.param.name; });

TEST_F(OriginHandlers, OfAPutBetweenEmptyLayoutsRunToo) {
  job_.start();
  count_sends_of(0);
  for (const PeerIndex target : {0u, 1u}) {
    StridedCursor from(0, 0), to(0, 0);
    ASSERT_EQ(job_[0].put_layout({target, &from, &to, 0, address(&origin_), 0, handler()}), Submit::accepted);
    EXPECT_EQ(sent_, static_cast<int>(target) + 1);
    EXPECT_EQ(origin_, sent_);
  }
}

TEST_F(OriginHandlers, OfAMessageTellsThatTheUserHeaderIsFreeToo) {
  job_.start();
  char header[] = "abcdefg", data[] = "hijklmn", seen[17] = {};
  job_.task(0).host.on_send_completion = [&](const SendCompletion&) {
    ++sent_;
    std::memset(header, 0, sizeof header);
    std::memset(data, 0, sizeof data);
  };
  job_.task(1).host.on_header = [&](const ArrivedMessage& message) {
    std::memcpy(seen, message.user_header, 8);
    HeaderVerdict verdict;
    verdict.buffer = seen + 8;
    return verdict;
  };
  ASSERT_EQ(job_[0].active_message({1, 9, header, 8, data, 8, 0, 0, 0, handler()}), Submit::accepted);
  EXPECT_EQ(sent_, 1);
  job_.settle();
  EXPECT_EQ(std::memcmp(seen, "abcdefg\0hijklmn", 16), 0);
}

TEST_F(OriginHandlers, OfAReadModifyWriteRunsBeforeTheAnswerIsHere) {
  job_.start();
  count_sends_of(0);
  std::uint64_t word = 5, previous = 0;
  ASSERT_EQ(job_[0].read_modify_write({1, wire::RmwOperation::fetch_and_add, 8, address(&word), 1, 0, &previous,
                                       address(&origin_), handler()}),
            Submit::accepted);
  EXPECT_EQ(sent_, 1);
  EXPECT_EQ(origin_, 0);
  job_.settle();
  EXPECT_EQ(origin_, 1);
  EXPECT_EQ(previous, 5u);
  EXPECT_EQ(sent_, 1);
}

TEST_F(OriginHandlers, ToOneselfRunOnce) {
  job_.start();
  count_sends_of(0);
  std::uint64_t value = 4, sink = 0, previous = 0;
  EXPECT_EQ(put(0, &sink, &value, sizeof value), Submit::accepted);
  EXPECT_EQ(job_[0].active_message({0, 9, nullptr, 0, &value, 8, 0, 0, 0, handler()}), Submit::accepted);
  EXPECT_EQ(job_[0].read_modify_write(
                {0, wire::RmwOperation::swap, 8, address(&sink), 1, 0, &previous, address(&origin_), handler()}),
            Submit::accepted);
  EXPECT_EQ(sent_, 3);
  for (const SendCompletion& completion : completions_) EXPECT_EQ(completion.target, 0u);
}

TEST_F(OriginHandlers, ThatSendAgainNeitherRecurseNorKeepTheCallForEver) {
  job_.start();
  std::uint64_t value = 1, sink = 0;
  int depth = 0, deepest = 0;
  job_.task(0).host.on_send_completion = [&](const SendCompletion&) {
    deepest = std::max(deepest, ++depth);
    if (++sent_ < 1000) {
      EXPECT_EQ(put(1, &sink, &value, sizeof value), Submit::accepted);
    }
    --depth;
  };
  ASSERT_EQ(put(1, &sink, &value, sizeof value), Submit::accepted);
  EXPECT_EQ(sent_, 1) << "the next one waits for a step";
  EXPECT_TRUE(job_[0].has_work());
  EXPECT_FALSE(job_[0].drained());
  job_.settle();
  while (job_[0].has_work()) job_.settle();
  EXPECT_EQ(sent_, 1000);
  EXPECT_EQ(target_, 1000);
  EXPECT_EQ(deepest, 1);
}

TEST_F(OriginHandlers, OfWhatAnInlineHandlerSendsRunAfterIt) {
  job_.start();
  int marker = 0;
  bool inside = false;
  std::uint64_t value = 1, sink = 0;
  job_.task(1).host.on_header = [&](const ArrivedMessage&) {
    HeaderVerdict verdict;
    verdict.completion_handler = &marker;
    verdict.style = CompletionStyle::inline_local;
    return verdict;
  };
  job_.task(1).host.on_completion = [&](const CompletionRun&, bool) {
    inside = true;
    EXPECT_EQ(job_[1].put({0, address(&sink), &value, sizeof value, 0, 0, 0, handler()}), Submit::accepted);
    inside = false;
    return true;
  };
  job_.task(1).host.on_send_completion = [&](const SendCompletion&) {
    EXPECT_FALSE(inside);
    ++sent_;
  };
  ASSERT_EQ(job_[0].active_message({1, 9, nullptr, 0, nullptr, 0, 0, 0, 0}), Submit::accepted);
  job_[1].progress();
  EXPECT_EQ(sent_, 1) << "at the end of the same step";
}

TEST_F(OriginHandlers, HearOfMessagesThatAreGivenUp) {
  for (PeerIndex i = 0; i < 2; ++i) job_.task(i).transport.make_readable();
  job_.start();
  count_sends_of(0);
  std::vector<char> source(50'000), sink(50'000);
  ASSERT_EQ(put(1, sink.data(), source.data(), source.size()), Submit::accepted);
  EXPECT_EQ(sent_, 0) << "the peer has not read it";
  job_.task(0).transport.set_gone(1);
  for (int i = 0; i < 100'000 && job_.task(0).host.faults.empty(); ++i) {
    job_.clock.advance(kMillisecond);
    job_[0].progress();
  }
  ASSERT_EQ(sent_, 1);
  EXPECT_TRUE(completions_[0].given_up);
  EXPECT_EQ(completions_[0].fault, Fault::no_connectivity);
  EXPECT_EQ(completions_[0].target, 1u);
  EXPECT_EQ(origin_, 0) << "the counter tells of what was sent";
}

class GetHandlers : public OriginHandlersOf {};

TEST_P(GetHandlers, RunInTheirThreadWhenDataAndCounterAreThere) {
  const Way& way = GetParam();
  for (PeerIndex i = 0; i < 2; ++i) {
    if (way.lossy) job_.task(i).transport.make_lossy(0.1, 5 + i);
    if (way.readable) job_.task(i).transport.make_readable(way.reads);
  }
  job_.start();
  for (const PeerIndex target : {1u, 0u}) {
    for (const std::size_t length : {0u, 8u, 3000u, 100'000u}) {
      const std::vector<unsigned char> source(length, 0x42);
      std::vector<unsigned char> sink(length, 0);
      int runs = 0;
      origin_ = 0;
      job_.task(0).host.on_completion = [&](const CompletionRun& run, bool now) {
        ++runs;
        EXPECT_FALSE(now);
        EXPECT_EQ(origin_, 1);
        EXPECT_EQ(run.handler, &handler_tag);
        EXPECT_EQ(run.info, &sent_);
        EXPECT_EQ(run.source, target);
        EXPECT_TRUE(sink == source);
        job_[0].completion_returned(run);
        return false;
      };
      ASSERT_EQ(job_[0].get({target, address(source.data()), sink.data(), length, 0, address(&origin_), handler()}),
                Submit::accepted);
      run_until([&] { return runs == 1; });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, GetHandlers,
                         testing::Values(Way{"packets", false, false, 0}, Way{"read", false, true, SIZE_MAX},
                                         Way{"read_fails", false, true, 2}, Way{"acknowledged", true, false, 0}),
                         [](const auto& info) { return info.param.name; });

TEST_F(OriginHandlers, OfAGetFromOneselfBetweenLayoutsRunsAfterTheCounters) {
  job_.start();
  std::uint64_t from[] = {1, 2, 3}, to[] = {0, 0, 0};
  StridedCursor source({address(from), 8, 16, 2}), destination({address(to), 8, 16, 2});
  int ran = 0;
  job_.task(0).host.on_completion = [&](const CompletionRun& run, bool) {
    EXPECT_EQ(run.handler, &handler_tag);
    EXPECT_EQ(origin_ + target_, 2);
    EXPECT_EQ(to[2], 3u);
    ++ran;
    return true;
  };
  ASSERT_EQ(job_[0].get_layout({0, &source, &destination, address(&target_), address(&origin_), handler()}),
            Submit::accepted);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(to[1], 0u);
}

}  // namespace
}  // namespace openlapi
