// Bulk transfers at the edges: headers that leave no room for the key, adapters that read nothing or a byte at a time,
// endings of nobody's, and what failures, successes and losses leave behind.
#include <gtest/gtest.h>

#include "dataplane/message/record_bytes.h"
#include "dataplane/tuning.h"
#include "tests/support/bulk_pair.h"

namespace openlapi {
namespace {

constexpr std::size_t kLong = 20'000;

class BulkEdges : public testing::Test {
 protected:
  BulkEdges() {
    job().task(1).host.on_header = [&](const ArrivedMessage&) {
      return HeaderVerdict{Delivery::deliver, CompletionStyle::thread, sink_.data()};
    };
  }
  Job& job() { return pair_.job; }
  ScriptedBulkMemory& adapter(PeerIndex task) { return pair_.adapters[task]; }

  void expect_arrives(Submit result) {
    ASSERT_EQ(result, Submit::accepted);
    job().settle();
    EXPECT_TRUE(sink_ == source_);
    pair_.expect_clean();
    std::fill(sink_.begin(), sink_.end(), 0);
  }
  Submit put(PeerIndex from) {
    return job()[from].put({1 - from, address(sink_.data()), source_.data(), kLong, 0, 0, 0});
  }
  void put_arrives(PeerIndex from) { expect_arrives(put(from)); }
  // How many of so many puts are offered to the other side's adapter.
  std::size_t offered(PeerIndex from, int puts) {
    const std::size_t before = adapter(from).exposures;
    for (int n = 0; n < puts; ++n) put_arrives(from);
    return adapter(from).exposures - before;
  }

  BulkPair pair_{true};
  std::vector<unsigned char> source_ = pattern(kLong), sink_ = std::vector<unsigned char>(kLong);
};

TEST_F(BulkEdges, AHeaderThatLeavesNoRoomForTheKeyTravelsWithPackets) {
  constexpr std::uint32_t kRecord = 600, kMostHeader = kRecord - 56 - 16;  // the fixed part, and the key
  job().task(0).transport.limit_packets_to(1, kRecord);
  job().start();
  const std::vector<unsigned char> header(kMostHeader + 4);
  for (const std::uint32_t length : {kMostHeader, kMostHeader + 4}) {
    const std::size_t before = adapter(1).begun;
    expect_arrives(job()[0].active_message({1, 1, header.data(), length, source_.data(), kLong, 0, 0, 0}));
    EXPECT_EQ(adapter(1).begun - before, length == kMostHeader ? 1u : 0u) << length;
  }
}

TEST_F(BulkEdges, AnAdapterThatReadsNothingIsNoneAndOneThatReadsBytesIsSlow) {
  job().start();
  adapter(1).longest = 0;
  put_arrives(0);
  EXPECT_EQ(adapter(1).begun, 0u);
  EXPECT_EQ(pair_.statistics(1).bulk_fallbacks, 1u);
  adapter(1).longest = 1;
  put_arrives(0);  // in packets: the path has just failed
  put_arrives(0);
  EXPECT_EQ(adapter(1).begun, kLong);
  EXPECT_EQ(pair_.statistics(1).bulk_received, 1u);
}

TEST_F(BulkEdges, EndingsOfNobodysReadsMeanNothing) {
  adapter(1).holds_endings = true;
  job().start();
  ASSERT_EQ(put(0), Submit::accepted);
  job().settle();
  ASSERT_EQ(adapter(1).under_way.size(), 1u);
  adapter(1).say({std::uint64_t{77} << 32, false});
  job().settle();
  EXPECT_EQ(pair_.statistics(1).bulk_received, 0u);
  adapter(1).end(0, true);
  job().settle();
  EXPECT_TRUE(sink_ == source_);
  EXPECT_EQ(pair_.statistics(1).bulk_received, 1u);
  EXPECT_EQ(pair_.statistics(1).bulk_fallbacks, 0u);
}

// The adapter has room for one read, of the first transfer: none of the second one has begun yet.
TEST_F(BulkEdges, EndingsBeforeTheFirstReadMeanNothing) {
  adapter(1).room = 1;
  adapter(1).holds_endings = true;
  job().start();
  for (int n = 0; n < 2; ++n) ASSERT_EQ(put(0), Submit::accepted);
  job().settle();
  ASSERT_EQ(adapter(1).under_way.size(), 1u);
  adapter(1).say({std::uint64_t{2} << 32, false});
  job().settle();
  for (int n = 0; n < 2; ++n) {
    ASSERT_EQ(adapter(1).under_way.size(), 1u);
    adapter(1).end(0, true);
    for (int step = 0; step < 3; ++step) job().settle();
  }
  EXPECT_TRUE(sink_ == source_);
  EXPECT_EQ(pair_.statistics(1).bulk_received, 2u);
  EXPECT_EQ(pair_.statistics(1).bulk_fallbacks, 0u);
}

TEST_F(BulkEdges, WhatCannotBeReadIsNotExposedWhileItTravelsInPackets) {
  adapter(1).begins_until_failure = 0;
  job().start();
  ASSERT_EQ(put(0), Submit::accepted);
  ASSERT_EQ(adapter(0).exposed(), 1u);
  job()[1].progress();
  job().task(1).transport.set_room(0);
  job()[0].progress();
  EXPECT_EQ(job()[0].unfinished().not_taken, 1u);
  EXPECT_EQ(adapter(0).exposed(), 0u);
  job().task(1).transport.set_room(64);
  expect_arrives(Submit::accepted);
}

// Once dropped and once accepted; while it is read it waits for nobody.
TEST_F(BulkEdges, AMessageThatIsAcceptedLaterIsNotOfferedAgain) {
  unsigned asked = 0;
  job().task(1).host.on_header = [&](const ArrivedMessage&) {
    return HeaderVerdict{++asked == 1 ? Delivery::drop : Delivery::deliver, CompletionStyle::thread, sink_.data()};
  };
  adapter(1).holds_endings = true;
  job().start();
  ASSERT_EQ(job()[0].active_message({1, 1, nullptr, 0, source_.data(), kLong, 0, 0, 0}), Submit::accepted);
  for (int look = 0; look < 4; ++look) {
    job().settle();
    job().clock.advance(kSecond);
  }
  ASSERT_EQ(adapter(1).under_way.size(), 1u);
  EXPECT_EQ(asked, 2u);
  adapter(1).end(0, true);
  expect_arrives(Submit::accepted);
  EXPECT_EQ(asked, 2u);
}

TEST_F(BulkEdges, ASingleReadIsStoppedToo) {
  adapter(1).holds_endings = true;
  job().start();
  ASSERT_EQ(put(0), Submit::accepted);
  job().settle();
  ASSERT_EQ(adapter(1).under_way.size(), 1u);
  job()[1].purge(0);
  EXPECT_EQ(adapter(1).stops, 1u) << "the user has its memory back";
  EXPECT_FALSE(job()[1].drained()) << "the adapter still works for this task";
  adapter(1).end(0, false);
  job()[1].progress();
}

// As a packet on each side, beside the records that tell of it.
TEST_F(BulkEdges, ATransferIsOnePacket) {
  job().start();
  const auto told = [&](PeerIndex task) { return job()[task].statistics(StatisticsPath::shared_memory); };
  put_arrives(0);
  EXPECT_EQ(told(0).packets_sent, 2u);
  EXPECT_EQ(told(1).packets_received, 2u);
  EXPECT_EQ(told(1).packets_sent, 1u);
  EXPECT_EQ(told(0).packets_received, 1u);
  expect_arrives(job()[0].get({1, address(source_.data()), sink_.data(), kLong, 0, 0}));
  EXPECT_EQ(told(1).packets_sent, 3u) << "the key, and the data";
  EXPECT_EQ(told(0).packets_received, 3u);
  for (PeerIndex i = 0; i < 2; ++i) EXPECT_EQ(told(i).retransmitted_packets, 0u);
}

// The one who offers, and the one whose adapter reads, which may have something to offer, too.
TEST_F(BulkEdges, ASuccessEndsARowOfFailures) {
  job().start();
  for (const PeerIndex from : {0u, 1u}) {
    adapter(1).begins_until_failure = 0;
    put_arrives(0);
    adapter(1).begins_until_failure = SIZE_MAX;
    EXPECT_EQ(offered(from, 2), 1u) << "one goes in packets";
    while (offered(0, 1) == 0) continue;
    adapter(1).begins_until_failure = 0;
    put_arrives(0);
    adapter(1).begins_until_failure = SIZE_MAX;
    EXPECT_EQ(offered(from, 2), 1u) << "as after the first failure";
    while (offered(0, 1) == 0) continue;
  }
}

// Its next incarnation may have an adapter that works.
TEST_F(BulkEdges, ALossForgetsFailures) {
  job().start();
  adapter(1).begins_until_failure = 0;
  EXPECT_EQ(offered(0, 4), 2u);
  adapter(1).begins_until_failure = SIZE_MAX;
  MemoryTransport& lost = job().task(1).transport;
  lost.purge_peer(0);
  lost.resume_peer(0);
  const RecordBytes beginning(wire::RecordKind::request_refused,
                              wire::RequestRefusedBody{lost.era_with(0), wire::RefusalReason::begins_anew});
  const ConstBuffer piece = beginning.piece();
  const OutgoingPacket packet{{&piece, 1}, beginning.length()};
  lost.send_burst(0, {&packet, 1});
  job()[0].progress();
  EXPECT_EQ(offered(0, 1), 1u);
}

// The best path carries the packets, and another one the bulk.
TEST(BulkPaths, AnAdapterOfAnyPathWillDo) {
  struct TwoPaths final : RouteResolver {
    explicit TwoPaths(PeerIndex self) : first(self, 1024), second(self, 1024) {}
    Route resolve(PeerIndex peer) override {
      Route route;
      std::string error;
      first.add_peer(peer, {}, error);
      route.paths = {&first, &second};
      route.count = 2;
      return route;
    }
    MemoryTransport first, second;
    ScriptedHost host;
    std::unique_ptr<Endpoint> endpoint;
  };
  TurnedClock clock;
  std::array<ScriptedBulkMemory, 2> adapters;
  ScriptedBulkMemory::connect(adapters[0], 0, adapters[1], 1);
  std::array<TwoPaths, 2> tasks{TwoPaths(0), TwoPaths(1)};
  MemoryTransport::connect(tasks[0].first, tasks[1].first);
  for (PeerIndex i = 0; i < 2; ++i) {
    tasks[i].second.set_bulk_memory(&adapters[i]);
    EndpointConfig config = BulkPair::config();
    config.tasks = 2;
    config.self = i;
    Transport* const both[] = {&tasks[i].first, &tasks[i].second};
    tasks[i].endpoint = std::make_unique<Endpoint>(config, both, clock, tasks[i], tasks[i].host);
  }
  const std::vector<unsigned char> source = pattern(kLong);
  std::vector<unsigned char> sink(kLong);
  ASSERT_EQ(tasks[0].endpoint->put({1, address(sink.data()), source.data(), kLong, 0, 0, 0}), Submit::accepted);
  for (int step = 0; step < 10; ++step) {
    for (TwoPaths& task : tasks) task.endpoint->progress();
  }
  EXPECT_TRUE(sink == source);
  EXPECT_EQ(adapters[1].begun, 1u);
}

}  // namespace
}  // namespace openlapi
