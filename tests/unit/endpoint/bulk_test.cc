// Bulk transfer: contiguous data from a minimum on is read by the receiver's adapter, piece by piece, with endings in
// any order; whatever fails, the data comes in packets, once.
#include <gtest/gtest.h>

#include "dataplane/layout/vector_cursor.h"
#include "dataplane/sync/fences.h"
#include "dataplane/tuning.h"
#include "tests/support/bulk_pair.h"

namespace openlapi {
namespace {

constexpr std::size_t kLong = 100'000;

// Over a path that needs channels, and over one that does not.
class Bulk : public testing::TestWithParam<bool> {
 protected:
  Bulk() : pair_(GetParam()), source_(pattern(kLong)), sink_(kLong + 16, 0xee) {}

  Submit put(BulkHint hint = BulkHint::by_task, std::size_t length = kLong) {
    return job()[0].put({1,
                         address(sink_.data() + 8),
                         source_.data(),
                         length,
                         address(&target_),
                         address(&origin_),
                         address(&completion_),
                         {},
                         hint});
  }
  Submit get(BulkHint hint = BulkHint::by_task, std::size_t length = kLong) {
    return job()[0].get(
        {1, address(source_.data()), sink_.data() + 8, length, address(&target_), address(&origin_), {}, hint});
  }
  Submit message(const void* header = nullptr, std::uint32_t header_length = 0) {
    return job()[0].active_message({1, 7, header, header_length, source_.data(), kLong, address(&target_),
                                    address(&origin_), address(&completion_)});
  }
  HeaderVerdict into_sink() {
    HeaderVerdict verdict;
    verdict.buffer = sink_.data() + 8;
    return verdict;
  }

  void expect_arrived(int times = 1, std::size_t length = kLong) {
    pair_.expect_clean();
    EXPECT_TRUE(
        std::equal(sink_.begin() + 8, sink_.begin() + 8 + static_cast<std::ptrdiff_t>(length), source_.begin()));
    EXPECT_EQ(sink_[7], 0xee);
    EXPECT_EQ(sink_[length + 8], 0xee);
    EXPECT_EQ(target_, times);
    EXPECT_EQ(origin_, times);
    EXPECT_TRUE(job().task(0).host.faults.empty());
    EXPECT_TRUE(job().task(1).host.faults.empty());
  }
  void expect_by_adapter(unsigned messages, PeerIndex reader = 1) {
    EXPECT_EQ(pair_.statistics(reader).bulk_received, messages);
    EXPECT_EQ(pair_.statistics(1 - reader).bulk_sent, messages);
  }
  void expect_fallbacks(unsigned reader, unsigned exposer) {
    EXPECT_EQ(pair_.statistics(1).bulk_fallbacks, reader);
    EXPECT_EQ(pair_.statistics(0).bulk_fallbacks, exposer);
  }

  Job& job() { return pair_.job; }
  ScriptedBulkMemory& adapter(PeerIndex task) { return pair_.adapters[task]; }

  BulkPair pair_;
  std::vector<unsigned char> source_, sink_;
  int target_ = 0, origin_ = 0, completion_ = 0;
};

TEST_P(Bulk, APutIsReadByTheTargetsAdapter) {
  job().start();
  ASSERT_EQ(put(), Submit::accepted);
  EXPECT_EQ(origin_, 0) << "the data is still needed";
  EXPECT_FALSE(job()[0].drained());
  job().settle();
  expect_arrived();
  EXPECT_EQ(completion_, 1);
  expect_by_adapter(1);
  expect_fallbacks(0, 0);
  EXPECT_EQ(adapter(1).begun, 1u);
  EXPECT_EQ(pair_.statistics(0).data_sent, kLong);
  EXPECT_EQ(pair_.statistics(1).data_received, kLong);
  EXPECT_EQ(pair_.statistics(0).retransmitted_packets, 0u);
}

TEST_P(Bulk, AGetIsReadByTheOriginsAdapter) {
  job().start();
  ASSERT_EQ(get(), Submit::accepted);
  job().settle();
  expect_arrived();
  expect_by_adapter(1, 0);
  EXPECT_EQ(pair_.statistics(1).data_sent, kLong);
  EXPECT_EQ(pair_.statistics(0).data_received, kLong);
}

TEST_P(Bulk, AMessageHasItsHeaderAtOnceAndItsHandlerAfterTheData) {
  const std::uint32_t header = 0x01020304;
  bool asked = false, completed = false;
  job().task(1).host.on_header = [&](const ArrivedMessage& message) {
    asked = true;
    EXPECT_EQ(message.length, kLong);
    EXPECT_EQ(message.one_packet_data, nullptr);
    EXPECT_EQ(message.user_header_length, 4u);
    EXPECT_EQ(std::memcmp(message.user_header, &header, 4), 0);
    HeaderVerdict verdict = into_sink();
    verdict.completion_handler = &completed;
    return verdict;
  };
  job().task(1).host.on_completion = [&](const CompletionRun&, bool) {
    EXPECT_TRUE(std::equal(source_.begin(), source_.end(), sink_.begin() + 8));
    return completed = true;
  };
  adapter(1).holds_endings = true;
  job().start();
  ASSERT_EQ(message(&header, 4), Submit::accepted);
  job().settle();
  EXPECT_TRUE(asked);
  EXPECT_FALSE(completed);
  adapter(1).holds_endings = false;
  job().settle();
  EXPECT_TRUE(completed);
  EXPECT_EQ(completion_, 1);
  expect_arrived();
  expect_by_adapter(1);
}

TEST_P(Bulk, OnlyFromTheMinimumOnAndOnlyWhereItIsWanted) {
  job().start();
  unsigned expected = 0;
  const auto check = [&](bool by_adapter, const char* what) {
    job().settle();
    expected += by_adapter ? 1 : 0;
    EXPECT_EQ(pair_.statistics(1).bulk_received + pair_.statistics(0).bulk_received, expected) << what;
  };
  put(BulkHint::by_task, 9'999);
  check(false, "below the minimum");
  put(BulkHint::always, 9'999);
  check(false, "a hint does not change the minimum");
  put(BulkHint::by_task, 10'000);
  check(true, "the minimum");
  put(BulkHint::never);
  check(false, "a hint against it");
  get(BulkHint::never);
  check(false, "the same for a get");
  get(BulkHint::by_task, 9'999);
  check(false, "a get below the minimum");
  get(BulkHint::by_task, 10'000);
  check(true, "a get of the minimum");
  pair_.expect_clean();
}

TEST(BulkSwitch, OffUnlessAHintAsksForIt) {
  EXPECT_FALSE(EndpointConfig{}.bulk);
  EndpointConfig config = BulkPair::config();
  config.bulk = false;
  BulkPair pair(false, config);
  pair.job.start();
  const auto source = pattern(kLong);
  std::vector<unsigned char> sink(kLong);
  pair.job[0].put({1, address(sink.data()), source.data(), kLong, 0, 0, 0});
  pair.job[0].get({1, address(source.data()), sink.data(), kLong, 0, 0});
  pair.job.settle();
  EXPECT_EQ(pair.adapters[0].exposures + pair.adapters[1].exposures, 0u);
  pair.job[0].put({1, address(sink.data()), source.data(), kLong, 0, 0, 0, {}, BulkHint::always});
  pair.job[0].get({1, address(source.data()), sink.data(), kLong, 0, 0, {}, BulkHint::always});
  pair.job.settle();
  EXPECT_EQ(pair.statistics(0).bulk_received, 1u);
  EXPECT_EQ(pair.statistics(1).bulk_received, 1u);
  EXPECT_TRUE(sink == source);
}

TEST(BulkSwitch, WhatIsCopiedBeforeTheCallReturnsGoesInPackets) {
  EndpointConfig config = BulkPair::config();
  config.copy_limit = 50'000;
  BulkPair pair(true, config);
  pair.job.start();
  auto source = pattern(50'000);
  const auto original = source;
  std::vector<unsigned char> sink(source.size());
  int origin = 0;
  pair.job[0].put({1, address(sink.data()), source.data(), source.size(), 0, address(&origin), 0});
  EXPECT_EQ(origin, 1);
  std::fill(source.begin(), source.end(), 0);
  pair.job.settle();
  EXPECT_TRUE(sink == original);
  EXPECT_EQ(pair.adapters[0].exposures, 0u);
}

// The order of the endings does not matter, and nothing is complete before the last one.
TEST_P(Bulk, PiecesEndInAnyOrder) {
  for (const PeerIndex reader : {1u, 0u}) {
    adapter(reader).longest = 9'000;
    adapter(reader).holds_endings = true;
  }
  job().start();
  for (const bool is_put : {true, false}) {
    ScriptedBulkMemory& reader = adapter(is_put ? 1 : 0);
    std::fill(sink_.begin() + 8, sink_.end() - 8, 0);
    is_put ? put() : get();
    job().settle();
    std::size_t ended = 0;
    for (; !reader.under_way.empty(); ++ended) {
      EXPECT_LE(reader.under_way.size(), tuning::kBulkReadsPerMessage);
      EXPECT_EQ(target_, is_put ? 0 : 1);
      EXPECT_FALSE(job()[0].drained() && job()[1].drained());
      reader.end(ended % reader.under_way.size(), true);
      job().settle();
    }
    EXPECT_EQ(ended, 12u);
    EXPECT_EQ(reader.most_under_way, tuning::kBulkReadsPerMessage);
    expect_arrived(is_put ? 1 : 2);
  }
}

TEST_P(Bulk, AFullAdapterIsAskedAgain) {
  adapter(1).longest = 9'000;
  adapter(1).room = 1;
  adapter(1).holds_endings = true;
  job().start();
  put();
  job().settle();
  for (int ended = 0; ended < 12; ++ended) {
    ASSERT_EQ(adapter(1).under_way.size(), 1u);
    adapter(1).end(0, true);
    job().settle();
  }
  expect_arrived();
  expect_by_adapter(1);
}

TEST_P(Bulk, AnAdapterWithoutAnyRoomIsWaitedFor) {
  adapter(1).room = 0;
  job().start();
  put();
  job().settle();
  EXPECT_EQ(target_, 0);
  EXPECT_LE(job()[1].deadline(), job().clock.now() + tuning::kLookForEndings) << "nothing else may wake the task";
  adapter(1).room = 1;
  job().settle();
  for (int step = 0; step < 10 && target_ == 0; ++step) job()[1].progress();
  job().settle();
  expect_arrived();
  expect_by_adapter(1);
}

TEST_P(Bulk, AFenceWaitsForIt) {
  adapter(1).holds_endings = adapter(0).holds_endings = true;
  job().start();
  put();
  get();
  const FenceTicket ticket = job()[0].fences().begin();
  job().settle();
  EXPECT_EQ(job()[0].fences().state(ticket), FenceState::pending);
  adapter(1).end(0, true);
  job().settle();
  EXPECT_EQ(job()[0].fences().state(ticket), FenceState::pending);
  adapter(0).end(0, true);
  job().settle();
  EXPECT_EQ(job()[0].fences().state(ticket), FenceState::done);
}

// What has failed is written by the adapter no more when packets bring it, and nothing of it is kept.
TEST_P(Bulk, APutWhoseReadFailsComesInPacketsWhenAllReadsHaveEnded) {
  adapter(1).longest = 30'000;
  adapter(1).holds_endings = true;
  job().start();
  put();
  job().settle();
  ASSERT_EQ(adapter(1).under_way.size(), 4u);
  for (const bool done : {false, true, false}) {
    adapter(1).end(1 % adapter(1).under_way.size(), done);
    job().settle();
    EXPECT_EQ(target_, 0);
    EXPECT_EQ(pair_.statistics(0).retransmitted_packets, 0u) << "other reads are still under way";
  }
  adapter(1).end(0, true);
  job().settle();
  expect_arrived();
  expect_by_adapter(0);
  expect_fallbacks(1, 1);
  EXPECT_EQ(pair_.statistics(0).retransmitted_packets, 1u);
  EXPECT_EQ(pair_.statistics(1).data_received, kLong);
}

TEST_P(Bulk, AGetWhoseReadFailsComesInPacketsWhenAllReadsHaveEnded) {
  adapter(0).longest = 60'000;
  adapter(0).holds_endings = true;
  job().start();
  get();
  job().settle();
  ASSERT_EQ(adapter(0).under_way.size(), 2u);
  adapter(0).end(1, false);
  job().settle();
  EXPECT_EQ(pair_.statistics(1).retransmitted_packets, 0u);
  EXPECT_EQ(target_ + origin_, 0);
  adapter(0).end(0, true);
  job().settle();
  expect_arrived();
  expect_fallbacks(1, 1);
  EXPECT_EQ(pair_.statistics(1).retransmitted_packets, 1u);
  EXPECT_EQ(pair_.statistics(1).data_sent, kLong);
}

TEST_P(Bulk, AMessageWhoseReadsFailIsDeliveredOnce) {
  unsigned asked = 0, completed = 0;
  job().task(1).host.on_header = [&](const ArrivedMessage&) {
    ++asked;
    HeaderVerdict verdict = into_sink();
    verdict.completion_handler = &completed;
    return verdict;
  };
  job().task(1).host.on_completion = [&](const CompletionRun&, bool) { return ++completed != 0; };
  adapter(1).holds_endings = true;
  job().start();
  message();
  job().settle();
  adapter(1).end(0, false);
  job().settle();
  expect_arrived();
  EXPECT_EQ(asked, 1u);
  EXPECT_EQ(completed, 1u);
  EXPECT_EQ(completion_, 1);
}

TEST_P(Bulk, AReadThatCannotBeginBringsThePackets) {
  for (const std::size_t begun : {0u, 2u}) {
    adapter(1).longest = 30'000;
    adapter(1).begins_until_failure = begun;
    if (begun == 0) job().start();
    ASSERT_EQ(put(), Submit::accepted);
    job().settle();
    EXPECT_EQ(adapter(1).exposed(), 0u);
    put(BulkHint::never);
    job().settle();
    put();  // in packets, for the failure
    job().settle();
    expect_arrived(begun == 0 ? 3 : 6);
  }
  expect_by_adapter(0);
}

TEST_P(Bulk, ATargetWithoutAnAdapterAnswersInPackets) {
  job().task(1).transport.set_bulk_memory(nullptr);
  job().start();
  put();
  job().settle();
  expect_arrived();
  expect_fallbacks(1, 1);
  EXPECT_EQ(adapter(0).exposures, 1u);
  put();
  get();
  job().settle();
  EXPECT_EQ(adapter(0).exposures, 1u) << "the path that does not work is not tried again at once";
  expect_arrived(3);
}

TEST_P(Bulk, MemoryThatCannotBeExposedGoesInPackets) {
  adapter(0).refuses_to_expose = adapter(1).refuses_to_expose = true;
  job().start();
  get();
  put();
  job().settle();
  expect_arrived(2);
  expect_by_adapter(0);
  expect_fallbacks(1, 1);
  EXPECT_EQ(pair_.statistics(0).retransmitted_packets, 0u) << "nothing was tried twice";
}

TEST_P(Bulk, APeerOutOfReachGetsPacketsAtOnce) {
  adapter(0).is_reachable = false;
  job().start();
  put();
  get();
  job().settle();
  expect_arrived(2);
  EXPECT_EQ(adapter(0).exposures + adapter(1).exposures, 0u);
  expect_fallbacks(0, 0);
}

// Failures in a row make the pauses longer; a success ends them.
TEST_P(Bulk, AWayThatFailsIsTriedAgainLater) {
  job().start();
  const auto tries = [&](int messages) {
    const std::size_t before = adapter(0).exposures;
    for (int n = 0; n < messages; ++n) {
      put();
      job().settle();
    }
    return adapter(0).exposures - before;
  };
  adapter(1).begins_until_failure = 0;
  EXPECT_EQ(tries(1), 1u);
  EXPECT_EQ(tries(1), 0u);
  EXPECT_EQ(tries(1), 1u);
  EXPECT_EQ(tries(3), 0u);
  EXPECT_EQ(tries(1), 1u);
  EXPECT_EQ(tries(300), 6u) << "after 7, 15 and 31 messages, and then after 63";
  adapter(1).begins_until_failure = SIZE_MAX;
  for (int n = 0; n < 64; ++n) tries(1);
  EXPECT_EQ(tries(10), 10u);
  expect_by_adapter(static_cast<unsigned>(pair_.statistics(1).bulk_received));
  pair_.expect_clean();
}

TEST_P(Bulk, ABuriedMessageIsNotRead) {
  job().task(1).host.on_header = [](const ArrivedMessage&) { return HeaderVerdict{Delivery::bury}; };
  job().start();
  message();
  job().settle();
  EXPECT_EQ(adapter(1).begun, 0u);
  EXPECT_EQ(target_ + origin_ + completion_, 3);
  pair_.expect_clean();
}

TEST_P(Bulk, AMessageThatIsRefusedAtFirstIsReadWhenItIsAccepted) {
  int refusals = 3;
  job().task(1).host.on_header = [&](const ArrivedMessage&) {
    return refusals-- > 0 ? HeaderVerdict{Delivery::drop} : into_sink();
  };
  job().start();
  message();
  for (int step = 0; step < 100 && target_ == 0; ++step) {
    job().clock.advance(tuning::kRetryRefused);
    job().settle();
  }
  expect_arrived();
  expect_by_adapter(1);
}

TEST_P(Bulk, DataForManyPlacesComesInPackets) {
  std::vector<LayoutPiece> pieces = {{address(sink_.data() + 8), 60'000}, {address(sink_.data() + 60'008), 40'000}};
  job().task(1).host.on_header = [&](const ArrivedMessage&) {
    HeaderVerdict verdict;
    verdict.layout = std::make_unique<ListCursor>(PieceList::of_pieces(pieces.data(), pieces.size()));
    return verdict;
  };
  job().start();
  message();
  job().settle();
  expect_arrived();
  EXPECT_EQ(adapter(1).begun, 0u);
}

// Many at a time, in both directions, over an adapter that takes few.
TEST_P(Bulk, ManyAtATimeShareTheAdapter) {
  for (ScriptedBulkMemory& each : pair_.adapters) {
    each.room = 3;
    each.longest = 7'000;
  }
  job().start();
  std::vector<std::vector<unsigned char>> sources, sinks(40);
  std::vector<int> done(40);
  for (unsigned n = 0; n < 40; ++n) {
    sources.push_back(pattern(20'000 + n * 501, n));
    sinks[n].resize(sources[n].size());
  }
  for (unsigned n = 0; n < 40; ++n) {
    const PeerIndex from = n % 2;
    const Submit result = n % 4 < 2 ? job()[from].put({1 - from, address(sinks[n].data()), sources[n].data(),
                                                       sources[n].size(), address(&done[n]), 0, 0})
                                    : job()[from].get({1 - from, address(sources[n].data()), sinks[n].data(),
                                                       sources[n].size(), 0, address(&done[n])});
    ASSERT_EQ(result, Submit::accepted);
  }
  for (int step = 0; step < 100'000 && std::count(done.begin(), done.end(), 1) != 40; ++step) {
    for (PeerIndex i = 0; i < 2; ++i) job()[i].progress();
  }
  job().settle();
  EXPECT_TRUE(sinks == sources);
  EXPECT_EQ(pair_.statistics(0).bulk_received + pair_.statistics(1).bulk_received, 40u);
  pair_.expect_clean();
}

INSTANTIATE_TEST_SUITE_P(Paths, Bulk, testing::Bool(),
                         [](const auto& path) { return path.param ? "Reliable" : "Channel"; });

}  // namespace
}  // namespace openlapi
