// Active messages over a reliable transport: header handlers that deliver, bury and drop; completion handlers inline
// and in threads; counters that move only when the handler has returned; messages to oneself.
#include <gtest/gtest.h>

#include "dataplane/layout/vector_cursor.h"
#include "dataplane/sync/fences.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

class ActiveMessage : public testing::Test {
 protected:
  ActiveMessage() : job_(2, config()) { job_.start(); }

  static EndpointConfig config() {
    EndpointConfig config;
    config.copy_limit = 4000;
    config.copy_buffers = 4;
    return config;
  }

  Submit send(PeerIndex target, const void* data, std::size_t length, std::uint32_t user_header_length = 8) {
    return job_[0].active_message({target, 7, user_header_, user_header_length, data, length, address(&target_),
                                   address(&origin_), address(&completion_)});
  }

  Job job_;
  const std::uint32_t user_header_[4] = {11, 22, 33, 44};
  int target_ = 0, origin_ = 0, completion_ = 0;
};

TEST_F(ActiveMessage, TheHeaderHandlerSeesWhatWasSent) {
  const std::string data = "twelve bytes";
  char sink[16] = {};
  int calls = 0;
  job_.task(1).host.on_header = [&](const ArrivedMessage& message) {
    ++calls;
    EXPECT_EQ(message.source, 0u);
    EXPECT_EQ(message.handler, 7u);
    EXPECT_EQ(message.user_header_length, 8u);
    EXPECT_EQ(std::memcmp(message.user_header, user_header_, 8), 0);
    EXPECT_EQ(message.length, data.size());
    EXPECT_NE(message.one_packet_data, nullptr);
    if (message.one_packet_data != nullptr) {
      EXPECT_EQ(std::memcmp(message.one_packet_data, data.data(), data.size()), 0);
    }
    HeaderVerdict verdict;
    verdict.buffer = sink;
    return verdict;
  };
  send(1, data.data(), data.size());
  EXPECT_EQ(calls, 0) << "no handler runs outside the target's own step";
  job_.settle();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(std::string(sink), data);
  EXPECT_EQ(target_, 1);
  EXPECT_EQ(origin_, 1);
  EXPECT_EQ(completion_, 1);
}

TEST_F(ActiveMessage, ALongMessageHasNoOnePacketPointer) {
  for (const std::size_t length : {985u, 1000u, 4000u, 100'000u}) {
    std::vector<char> data(length, 'x'), sink(length);
    job_.task(1).host.on_header = [&](const ArrivedMessage& message) {
      EXPECT_EQ(message.one_packet_data, nullptr);
      EXPECT_EQ(message.length, length);
      HeaderVerdict verdict;
      verdict.buffer = sink.data();
      return verdict;
    };
    send(1, data.data(), length, 16);
    job_.settle();
    EXPECT_EQ(sink, data);
  }
  EXPECT_EQ(completion_, 4);
}

// The smallest packets that there are (MP_UDP_PACKET_SIZE=1024) still carry the longest user header of a long message.
TEST(SmallPackets, CarryTheLongestUserHeader) {
  for (const bool reliable : {true, false}) {
    Job job(2, {}, 1024);
    if (!reliable) {
      for (PeerIndex i = 0; i < 2; ++i) job.task(i).transport.make_lossy(0, 1);
    }
    job.start();
    const std::uint32_t longest = job[0].sizes().user_header;
    EXPECT_GE(longest, 912u);
    const std::vector<char> header(longest, 'h'), data(5000, 'd');
    std::vector<char> sink(data.size());
    bool header_is_right = false;
    job.task(1).host.on_header = [&](const ArrivedMessage& message) {
      header_is_right =
          message.user_header_length == longest && std::memcmp(message.user_header, header.data(), longest) == 0;
      HeaderVerdict verdict;
      verdict.buffer = sink.data();
      return verdict;
    };
    int done = 0;
    ASSERT_EQ(job[0].active_message({1, 7, header.data(), longest, data.data(), data.size(), 0, 0, address(&done)}),
              Submit::accepted);
    for (int i = 0; i < 100 && done == 0; ++i) {
      job.settle();
      job.clock.advance(kMillisecond);
    }
    EXPECT_EQ(done, 1);
    EXPECT_TRUE(header_is_right);
    EXPECT_TRUE(sink == data);
  }
}

TEST_F(ActiveMessage, BuriedDataStillMovesTheCounters) {
  for (const Delivery delivery : {Delivery::bury, Delivery::deliver}) {
    for (const std::size_t length : {0u, 100u, 50'000u}) {
      std::vector<char> data(length, 'x');
      target_ = completion_ = 0;
      job_.task(1).host.on_header = [&](const ArrivedMessage&) {
        HeaderVerdict verdict;
        verdict.delivery = delivery;  // deliver without a buffer buries too
        return verdict;
      };
      send(1, data.data(), length);
      job_.settle();
      EXPECT_EQ(target_, 1) << length;
      EXPECT_EQ(completion_, 1) << length;
    }
  }
}

TEST_F(ActiveMessage, ADroppedMessageComesAgain) {
  for (const std::size_t length : {16u, 3000u, 60'000u}) {
    std::vector<char> data(length, 'd'), sink(length);
    int calls = 0;
    target_ = 0;
    job_.task(1).host.on_header = [&](const ArrivedMessage&) {
      HeaderVerdict verdict;
      verdict.buffer = sink.data();
      if (++calls < 4) verdict.delivery = Delivery::drop;
      return verdict;
    };
    send(1, data.data(), length);
    for (int i = 0; i < 5; ++i) {
      job_.settle();
      if (calls < 4) {
        EXPECT_EQ(target_, 0);
      }
      job_.clock.advance(kMillisecond);
    }
    EXPECT_EQ(calls, 4);
    EXPECT_EQ(sink, data);
    EXPECT_EQ(target_, 1);
  }
}

TEST_F(ActiveMessage, OnAcceptanceOnlyWhatHasArrivedIsMoved) {
  const std::vector<char> data(60'000, 'd');
  std::vector<char> sink(data.size(), 'u');
  bool accept = false;
  job_.task(1).host.on_header = [&](const ArrivedMessage&) {
    HeaderVerdict verdict;
    verdict.buffer = sink.data();
    if (!accept) verdict.delivery = Delivery::drop;
    return verdict;
  };
  send(1, data.data(), data.size());
  job_[1].progress();
  accept = true;
  job_[1].progress();
  const auto untouched = std::find(sink.begin(), sink.end(), 'u');
  EXPECT_NE(untouched, sink.begin());
  EXPECT_EQ(std::count(untouched, sink.end(), 'u'), sink.end() - untouched);
  EXPECT_GT(sink.end() - untouched, 1000);
  job_.settle();
  EXPECT_EQ(sink, data);
  EXPECT_EQ(target_, 1);
}

TEST_F(ActiveMessage, ADroppedMessageStaysInTheSourcesMemoryUntilItIsAccepted) {
  Job job(2, config());
  for (PeerIndex i = 0; i < 2; ++i) job.task(i).transport.make_readable();
  job.start();
  const std::vector<char> data(60'000, 'd');
  std::vector<char> sink(data.size());
  bool accept = false;
  job.task(1).host.on_header = [&](const ArrivedMessage&) {
    HeaderVerdict verdict;
    verdict.buffer = sink.data();
    if (!accept) verdict.delivery = Delivery::drop;
    return verdict;
  };
  ASSERT_EQ(job[0].active_message({1, 7, nullptr, 0, data.data(), data.size(), address(&target_), address(&origin_),
                                   address(&completion_)}),
            Submit::accepted);
  job.settle();
  EXPECT_EQ(job.task(1).transport.reads(), 0u);
  EXPECT_EQ(origin_, 0);
  accept = true;
  job.clock.advance(kMillisecond);
  job.settle();
  EXPECT_EQ(job.task(1).transport.reads(), 1u);
  EXPECT_EQ(sink, data);
  EXPECT_EQ(target_, 1);
  EXPECT_EQ(origin_, 1);
  EXPECT_EQ(completion_, 1);
}

TEST_F(ActiveMessage, ADroppedMessageHoldsTheFence) {
  bool accept = false;
  job_.task(1).host.on_header = [&](const ArrivedMessage&) {
    HeaderVerdict verdict;
    if (!accept) verdict.delivery = Delivery::drop;
    return verdict;
  };
  send(1, "12345678", 8);
  const FenceTicket ticket = job_[0].fences().begin();
  job_.settle();
  EXPECT_EQ(job_[0].fences().state(ticket), FenceState::pending);
  accept = true;
  job_.clock.advance(kMillisecond);
  job_.settle();
  EXPECT_EQ(job_[0].fences().state(ticket), FenceState::done);
}

TEST_F(ActiveMessage, CountersWaitForAQueuedCompletionHandlerButTheFenceDoesNot) {
  CompletionRun queued;
  int info = 0;
  job_.task(1).host.on_header = [&](const ArrivedMessage&) {
    HeaderVerdict verdict;
    verdict.completion_handler = &info;
    verdict.completion_info = &queued;
    return verdict;
  };
  job_.task(1).host.on_completion = [&](const CompletionRun& run, bool now) {
    EXPECT_FALSE(now);
    queued = run;
    return false;
  };
  send(1, "12345678", 8);
  const FenceTicket ticket = job_[0].fences().begin();
  job_.settle();
  EXPECT_EQ(job_[0].fences().state(ticket), FenceState::done) << "a data fence";
  EXPECT_EQ(queued.handler, &info);
  EXPECT_EQ(queued.info, &queued);
  EXPECT_EQ(target_, 0);
  EXPECT_EQ(completion_, 0);
  job_[1].completion_returned(queued);
  EXPECT_EQ(target_, 1);
  job_.settle();
  EXPECT_EQ(completion_, 1);
}

TEST_F(ActiveMessage, AnInlineHandlerRepliesWithoutEverBeingTurnedAway) {
  job_.task(0).transport.set_room(1);
  int marker = 0;
  std::vector<int> replies(40);
  job_.task(1).host.on_header = [&](const ArrivedMessage&) {
    HeaderVerdict verdict;
    verdict.completion_handler = &marker;
    verdict.style = CompletionStyle::inline_local;
    return verdict;
  };
  int next = 0;
  job_.task(1).host.on_completion = [&](const CompletionRun&, bool now) {
    EXPECT_TRUE(now);
    for (int i = 0; i < 10; ++i) {
      const int value = next + 1;
      EXPECT_EQ(job_[1].put({0, address(&replies[next]), &value, sizeof(value), 0, 0, 0}), Submit::accepted);
      ++next;
    }
    return true;
  };
  for (int i = 0; i < 4; ++i) send(1, nullptr, 0);
  job_.settle();
  for (int i = 0; i < 40; ++i) EXPECT_EQ(replies[i], i + 1);
  EXPECT_EQ(completion_, 4);
}

TEST_F(ActiveMessage, AReplyWithoutRoomGoesToTheThread) {
  job_.task(0).transport.set_room(0);
  int marker = 0, value = 1, sink = 0;
  job_[1].put({0, address(&sink), &value, sizeof(value), 0, 0, 0});
  bool asked_now = true;
  job_.task(1).host.on_header = [&](const ArrivedMessage&) {
    HeaderVerdict verdict;
    verdict.completion_handler = &marker;
    verdict.style = CompletionStyle::inline_reply;
    return verdict;
  };
  job_.task(1).host.on_completion = [&](const CompletionRun&, bool now) {
    asked_now = now;
    return false;
  };
  send(1, nullptr, 0);
  job_.settle();
  EXPECT_FALSE(asked_now);
}

TEST_F(ActiveMessage, ToOneselfIsDeliveredInsideTheCall) {
  char sink[8] = {};
  job_.task(0).host.on_header = [&](const ArrivedMessage& message) {
    EXPECT_EQ(message.source, 0u);
    EXPECT_NE(message.one_packet_data, nullptr);
    HeaderVerdict verdict;
    verdict.buffer = sink;
    return verdict;
  };
  send(0, "selfie!", 8);
  EXPECT_STREQ(sink, "selfie!");
  EXPECT_EQ(target_ + origin_ + completion_, 3);
}

TEST_F(ActiveMessage, ToOneselfFromAnInlineHandlerDoesNotRecurse) {
  int marker = 0, depth = 0, deepest = 0, runs = 0;
  job_.task(0).host.on_header = [&](const ArrivedMessage&) {
    HeaderVerdict verdict;
    verdict.completion_handler = &marker;
    verdict.style = CompletionStyle::inline_reply;
    return verdict;
  };
  job_.task(0).host.on_completion = [&](const CompletionRun&, bool) {
    deepest = std::max(deepest, ++depth);
    if (++runs < 1000) send(0, "again", 5);
    --depth;
    return true;
  };
  send(0, "again", 5);
  while (job_[0].has_work()) job_[0].progress();
  EXPECT_EQ(runs, 1000);
  EXPECT_EQ(deepest, 1);
}

TEST_F(ActiveMessage, AVectorToOneselfFromAnInlineHandlerComesInTheNextStep) {
  int marker = 0, runs = 0;
  char data[] = "again";
  job_.task(0).host.on_header = [&](const ArrivedMessage&) {
    HeaderVerdict verdict;
    verdict.completion_handler = &marker;
    verdict.style = CompletionStyle::inline_reply;
    return verdict;
  };
  job_.task(0).host.on_completion = [&](const CompletionRun&, bool) {
    if (++runs > 1) return true;
    void* from[] = {data};
    const unsigned long lengths[] = {sizeof(data)};
    ListCursor source(PieceList::of_arrays(from, lengths, sizeof(long), 1));
    EXPECT_EQ(job_[0].layout_message({0, 1, nullptr, 0, &source, true, 0, 0, 0}), Submit::accepted);
    return true;
  };
  send(0, data, sizeof(data));
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(job_[0].has_work());
  job_[0].progress();
  EXPECT_EQ(runs, 2);
}

TEST_F(ActiveMessage, ToOneselfDroppedComesAgain) {
  int calls = 0;
  job_.task(0).host.on_header = [&](const ArrivedMessage& message) {
    HeaderVerdict verdict;
    if (++calls < 3) verdict.delivery = Delivery::drop;
    EXPECT_EQ(std::memcmp(message.one_packet_data, "hello", 5), 0);
    return verdict;
  };
  char data[] = "hello";
  send(0, data, 5);
  std::memset(data, 0, sizeof(data));
  for (int i = 0; i < 4; ++i) {
    job_.clock.advance(kMillisecond);
    job_.settle();
  }
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(target_, 1);
}

}  // namespace
}  // namespace openlapi
