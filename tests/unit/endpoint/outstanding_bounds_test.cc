// What a task keeps of operations towards a peer that takes nothing is bounded: calls are answered busy, those of
// handlers never, and nothing that was accepted is lost once the peer takes again.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "dataplane/layout/vector_cursor.h"
#include "dataplane/tuning.h"
#include "tests/support/address.h"
#include "tests/support/allocation_count.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

using test::allocated_bytes;

enum class Way { reliable, attach, channel };

class OutstandingBounds : public testing::TestWithParam<Way> {
 protected:
  static constexpr std::size_t kLength = 5000;  // more than is copied
  static constexpr int kMany = 100'000;

  OutstandingBounds() : job_(2, config()) {
    for (PeerIndex i = 0; i < 2; ++i) {
      MemoryTransport& transport = job_.task(i).transport;
      transport.set_room(i == 1 ? 0 : 1000);
      if (GetParam() == Way::attach) transport.make_readable();
      if (GetParam() == Way::channel) transport.make_lossy(0, 1);
      job_.task(i).epoch_of_peers = 1;
    }
    job_.start();
  }
  static EndpointConfig config() {
    EndpointConfig config = small_copies();
    config.job_key = {7, 0};
    config.timeout = UINT64_MAX;
    return config;
  }

  Submit put() {
    return job_[0].put({1, address(sink_.data()), source_.data(), kLength, address(&arrived_), address(&freed_), 0});
  }

  // How many are accepted before one is answered busy.
  int accepted(const std::function<Submit()>& begin) {
    int count = 0;
    while (count < kMany && begin() == Submit::accepted) {
      ++count;
      if (count % 100 == 0) job_[0].progress();
    }
    return count;
  }

  void wake_target(const int& counter, int wanted) {
    job_.task(1).transport.set_room(1000);
    for (int step = 0; step < 1'000'000 && counter != wanted; ++step) {
      job_[0].progress();
      job_[1].progress();
      job_.clock.advance(100'000);
    }
    EXPECT_EQ(counter, wanted);
  }

  Job job_;
  std::vector<unsigned char> source_ = std::vector<unsigned char>(kLength, 1);
  std::vector<unsigned char> sink_ = std::vector<unsigned char>(kLength);
  int arrived_ = 0, freed_ = 0;
};

TEST_P(OutstandingBounds, LongPuts) {
  const int begun = accepted([this] { return put(); });
  EXPECT_GE(begun, 1000);
  EXPECT_LE(begun, static_cast<int>(tuning::kMostKeptBytes / 3 / (24 * sizeof(void*))));  // the least that one takes
  EXPECT_EQ(put(), Submit::busy);
  wake_target(arrived_, begun);
  wake_target(freed_, begun);
  EXPECT_EQ(sink_, source_);
  job_.task(1).transport.set_room(0);
  EXPECT_EQ(accepted([this] { return put(); }), begun) << "everything was given back";
}

TEST_P(OutstandingBounds, HandlersAreNeverRefused) {
  const int begun = accepted([this] { return put(); });
  int of_handler = 0;
  job_.task(0).host.on_send_completion = [&](const SendCompletion&) {
    for (; of_handler < 50; ++of_handler) ASSERT_EQ(put(), Submit::accepted);
  };
  PutRequest to_self{0, address(sink_.data()), source_.data(), 8, 0, 0, 0};
  to_self.send_handler.function = &of_handler;
  ASSERT_EQ(job_[0].put(to_self), Submit::accepted);
  EXPECT_EQ(of_handler, 50);
  wake_target(arrived_, begun + 50);
}

// They are told in the end, as the table of requests and memory have one; nothing that they began is lost.
TEST_P(OutstandingBounds, HandlersThatNeverEndAreBounded) {
  job_.task(1).transport.set_room(1'000'000);
  constexpr int kEndless = 2'000'000;
  std::uint64_t word = 0, from = 1, to = 0;
  int added = 0, got = 0, completed = 0, own = 0, sent = 0;
  const auto endless = [](const std::function<Submit()>& begin) {
    for (int count = 0; count < kEndless; ++count) {
      const Submit result = begin();
      if (result == Submit::accepted) continue;
      EXPECT_EQ(result, Submit::busy);
      return count;
    }
    return kEndless;
  };
  int adds = 0, gets = 0, puts = 0, owns = 0, longs = 0;
  job_.task(0).host.on_send_completion = [&](const SendCompletion&) {
    if (adds != 0) return;
    adds = endless([&] {
      return job_[0].read_modify_write(
          {1, wire::RmwOperation::fetch_and_add, 8, address(&word), 1, 0, nullptr, address(&added)});
    });
    gets = endless([&] { return job_[0].get({1, address(&from), &to, 8, 0, address(&got)}); });
    puts = endless([&] { return job_[0].put({1, address(&to), &from, 8, 0, 0, address(&completed)}); });
    owns = endless([&] { return job_[0].active_message({0, 1, nullptr, 0, &from, 8, address(&own), 0, 0}); });
    longs = endless([&] {
      return job_[0].put({1, address(sink_.data()), source_.data(), kLength, address(&arrived_), address(&sent), 0});
    });
  };
  PutRequest to_self{0, address(&to), &from, 8, 0, 0, 0};
  to_self.send_handler.function = &adds;
  ASSERT_EQ(job_[0].put(to_self), Submit::accepted);
  EXPECT_EQ(adds, static_cast<int>(tuning::kMostRequestsOfHandlersPerPeer));
  EXPECT_EQ(gets, 0) << "the same supply";
  EXPECT_EQ(puts, static_cast<int>(tuning::kMostOwedToHandlers));
  EXPECT_EQ(owns, static_cast<int>(tuning::kMostCopiesOfHandlers));
  EXPECT_GT(longs, 1000);
  EXPECT_LT(longs, kEndless);
  wake_target(added, adds);
  wake_target(completed, puts);
  wake_target(own, owns);
  wake_target(sent, longs);
  EXPECT_EQ(word, static_cast<std::uint64_t>(adds));
}

// What was accepted from other contexts' handlers begins; those who accept it look whether there is an end. Behind it
// the bounds are those of before: for calls outside of handlers, and for this context's own handlers.
TEST_P(OutstandingBounds, OtherContextsHandlersAreToldToStop) {
  std::uint64_t word = 0;
  const auto add = [&] {
    return job_[0].read_modify_write({1, wire::RmwOperation::fetch_and_add, 8, address(&word), 1, 0, nullptr, 0});
  };
  job_[0].enter_handler();
  for (std::size_t n = 0; n < tuning::kMostRequestsOfHandlers; ++n) {
    ASSERT_FALSE(job_[0].handlers_exhausted());
    ASSERT_EQ(add(), Submit::accepted);
  }
  job_[0].leave_handler();
  EXPECT_TRUE(job_[0].handlers_exhausted());
  EXPECT_EQ(add(), Submit::busy);
  Submit of_own_handler = Submit::accepted;
  job_.task(0).host.on_send_completion = [&](const SendCompletion&) { of_own_handler = add(); };
  PutRequest to_self{0, address(sink_.data()), source_.data(), 8, 0, 0, 0};
  to_self.send_handler.function = &of_own_handler;
  ASSERT_EQ(job_[0].put(to_self), Submit::accepted);
  EXPECT_EQ(of_own_handler, Submit::busy);
}

TEST_P(OutstandingBounds, ListsOfVectors) {
  constexpr std::size_t kPieces = 20'000;
  std::vector<unsigned char> from(kPieces, 3), to(kPieces);
  std::vector<std::uint64_t> here(kPieces), there(kPieces), lengths(kPieces, 1);
  for (std::size_t i = 0; i < kPieces; ++i) here[i] = address(&from[i]), there[i] = address(&to[i]);
  ListCursor source(PieceList::of_arrays(here.data(), lengths.data(), 8, kPieces));
  ListCursor destination(PieceList::of_arrays(there.data(), lengths.data(), 8, kPieces));
  int puts = 0, gets = 0;
  const int begun = accepted([&] { return job_[0].put_layout({1, &source, &destination, address(&puts), 0, 0}); });
  EXPECT_GE(begun, 1);
  EXPECT_LE(begun * 2 * kPieces * sizeof(LayoutPiece), tuning::kMostKeptBytes / 2 + 2 * kPieces * sizeof(LayoutPiece));
  wake_target(puts, begun);
  EXPECT_EQ(to, from);
  job_.task(1).transport.set_room(0);
  std::fill(to.begin(), to.end(), 0);
  ListCursor remote(PieceList::of_arrays(here.data(), lengths.data(), 8, kPieces));
  ListCursor local(PieceList::of_arrays(there.data(), lengths.data(), 8, kPieces));
  const int asked = accepted([&] { return job_[0].get_layout({1, &remote, &local, 0, address(&gets)}); });
  EXPECT_GE(asked, 1);
  EXPECT_LE(asked * kPieces * sizeof(LayoutPiece), tuning::kMostKeptBytes / 2 + 2 * kPieces * sizeof(LayoutPiece));
  wake_target(gets, asked);
  EXPECT_EQ(to, from);
}

TEST_P(OutstandingBounds, Requests) {
  job_.task(1).transport.set_room(1'000'000);
  std::uint64_t word = 0;
  int answered = 0;
  const auto add = [&] {
    return job_[0].read_modify_write(
        {1, wire::RmwOperation::fetch_and_add, 8, address(&word), 1, 0, nullptr, address(&answered)});
  };
  const int begun = accepted(add);
  EXPECT_GE(begun, 4);
  EXPECT_LE(begun, static_cast<int>(tuning::kMostRequestsPerPeer));
  wake_target(answered, begun);
  EXPECT_EQ(word, static_cast<std::uint64_t>(begun));
}

// Those that wait for room would otherwise leave one by one, as answers come, with a packet each.
TEST_P(OutstandingBounds, RequestsThatWaitForRoomLeaveTogether) {
  for (PeerIndex i = 0; i < 2; ++i) job_.task(i).transport.set_room(1'000'000);
  std::uint64_t word = 0;
  int answered = 0, begun = 0;
  const auto add = [&] {
    const Submit result = job_[0].read_modify_write(
        {1, wire::RmwOperation::fetch_and_add, 8, address(&word), 1, 0, nullptr, address(&answered)});
    if (result == Submit::accepted) ++begun;
    return result;
  };
  while (add() == Submit::accepted) job_[0].progress();
  ASSERT_EQ(begun, static_cast<int>(tuning::kMostRequestsPerPeer));
  for (int step = 0; step < 100'000 && add() == Submit::busy; ++step) {
    job_[1].progress();
    job_[0].progress();
    job_.clock.advance(100'000);
  }
  EXPECT_GE(answered, static_cast<int>(tuning::kRequestsThatLeaveTogether));
  while (add() == Submit::accepted) job_[0].progress();
  EXPECT_EQ(begun, static_cast<int>(tuning::kMostRequestsPerPeer) + answered);
  wake_target(answered, begun);
}

// The target keeps a record for each that finds no room here.
TEST_P(OutstandingBounds, CompletionCountersThatAreOwed) {
  job_.task(1).transport.set_room(1'000'000);
  int completed = 0;
  const auto put_and_tell = [&] {
    const Submit result = job_[0].put({1, address(sink_.data()), source_.data(), 8, 0, 0, address(&completed)});
    if (result == Submit::accepted) job_[1].progress();
    return result;
  };
  int begun = 0;
  job_[0].hold_arrivals(true);
  begun = accepted(put_and_tell);
  EXPECT_LE(begun, static_cast<int>(tuning::kMostOwedCounters));
  EXPECT_GE(begun, 4);
  job_[0].hold_arrivals(false);
  wake_target(completed, begun);
}

constexpr const char* kWays[] = {"reliable", "attach", "channel"};
INSTANTIATE_TEST_SUITE_P(Ways, OutstandingBounds, testing::Values(Way::reliable, Way::attach, Way::channel),
                         [](const auto& info) { return kWays[static_cast<int>(info.param)]; });

// The bytes themselves.
TEST(MemoryOfTheOrigin, IsBoundedTowardsAPeerThatTakesNothing) {
  for (const bool attach : {false, true}) {
    Job job(2, small_copies());
    job.task(1).transport.set_room(0);
    if (attach) job.task(0).transport.make_readable();
    job.start();
    std::vector<unsigned char> source(5000), sink(5000);
    const std::size_t before = allocated_bytes();
    for (int n = 0; n < 100'000; ++n) {
      job[0].put({1, address(sink.data()), source.data(), source.size(), 0, 0, 0});
      if (n % 1000 == 0) job[0].progress();
    }
    EXPECT_LE(allocated_bytes() - before, tuning::kMostKeptBytes) << "attach: " << attach;
  }
}

}  // namespace
}  // namespace openlapi
