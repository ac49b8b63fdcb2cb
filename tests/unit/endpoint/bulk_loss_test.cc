// Bulk transfers whose peer is purged, lost or restarted while the adapter reads: the user's memory is not written any
// more, what was exposed is withdrawn once, late endings are ignored, and those who wait are told.
#include <gtest/gtest.h>

#include <optional>

#include "dataplane/counter/counters.h"
#include "tests/support/bulk_pair.h"

namespace openlapi {
namespace {

constexpr std::size_t kLong = 100'000;

class BulkLoss : public testing::TestWithParam<bool> {
 protected:
  BulkLoss() : source_(pattern(kLong)), sink_(kLong, 0xee) {
    EndpointConfig config = BulkPair::config();
    config.idle_loops_between_timers = 1;
    config.timeout = 10 * kSecond;
    pair_.emplace(GetParam(), config);
    for (ScriptedBulkMemory& each : pair_->adapters) {
      each.holds_endings = true;
      each.longest = 30'000;
    }
    job().start();
  }

  void put(PeerIndex from) {
    ASSERT_EQ(job()[from].put({1 - from, address(sink_.data()), source_.data(), kLong, address(&target_),
                               address(&origin_), address(&completion_)}),
              Submit::accepted);
    job().settle();
    ASSERT_GE(adapter(1 - from).under_way.size(), 4u);
  }
  void get(PeerIndex by) {
    ASSERT_EQ(
        job()[by].get({1 - by, address(source_.data()), sink_.data(), kLong, address(&target_), address(&origin_)}),
        Submit::accepted);
    job().settle();
    ASSERT_GE(adapter(by).under_way.size(), 4u);
  }

  // The user has its memory back: nothing may change it, and what the adapter still says changes nothing.
  void expect_abandoned(PeerIndex reader) {
    EXPECT_EQ(adapter(reader).stops, 1u);
    sink_.assign(kLong, 0xcc);
    const unsigned ends = static_cast<unsigned>(adapter(reader).under_way.size());
    for (unsigned n = 0; n < ends; ++n) {
      EXPECT_FALSE(job()[reader].drained()) << "the adapter still works for this task";
      adapter(reader).end(0, true);
      job()[reader].progress();
    }
    job().settle();
    EXPECT_TRUE(job()[reader].drained());
    EXPECT_EQ(std::count(sink_.begin(), sink_.end(), 0xcc), static_cast<std::ptrdiff_t>(kLong));
    EXPECT_EQ(target_ + origin_ + completion_, 0);
  }

  // Bulk transfers work as ever between them.
  void expect_works() {
    for (ScriptedBulkMemory& each : pair_->adapters) each.holds_endings = false;
    target_ = origin_ = 0;
    ASSERT_EQ(job()[0].put({1, address(sink_.data()), source_.data(), kLong, address(&target_), address(&origin_), 0}),
              Submit::accepted);
    job().settle();
    EXPECT_TRUE(sink_ == source_);
    EXPECT_EQ(target_, 1);
    EXPECT_EQ(origin_, 1);
  }

  Job& job() { return pair_->job; }
  ScriptedBulkMemory& adapter(PeerIndex task) { return pair_->adapters[task]; }

  std::optional<BulkPair> pair_;
  std::vector<unsigned char> source_, sink_;
  int target_ = 0, origin_ = 0, completion_ = 0;
};

TEST_P(BulkLoss, TheReaderOfAPutPurgesItsOrigin) {
  put(0);
  job()[1].purge(0);
  EXPECT_EQ(job()[1].counters().loss_of(address(&target_)), CounterLoss::peer_purged);
  expect_abandoned(1);
}

TEST_P(BulkLoss, TheReaderOfAGetPurgesItsTarget) {
  get(1);
  job()[1].purge(0);
  EXPECT_EQ(job()[1].counters().loss_of(address(&origin_)), CounterLoss::peer_purged);
  expect_abandoned(1);
}

TEST_P(BulkLoss, TheOriginOfAPutPurgesItsReader) {
  put(0);
  EXPECT_EQ(adapter(0).exposed(), 1u);
  job()[0].purge(1);
  EXPECT_EQ(adapter(0).exposed(), 0u);
  EXPECT_EQ(job()[0].counters().loss_of(address(&origin_)), CounterLoss::peer_purged);
  while (!adapter(1).under_way.empty()) adapter(1).end(0, false);
  job().settle();
  EXPECT_EQ(target_ + origin_, 0);
}

TEST_P(BulkLoss, TheTargetOfAGetPurgesItsReader) {
  get(0);
  job()[1].purge(0);
  EXPECT_EQ(adapter(1).exposed(), 0u);
  while (!adapter(0).under_way.empty()) adapter(0).end(0, false);
  job().settle();
  EXPECT_EQ(target_ + origin_, 0);
}

// Both begin anew; the endings of the former era come in the new one.
TEST_P(BulkLoss, EndingsOfAFormerEraMeanNothingInTheNewOne) {
  put(0);
  for (PeerIndex i = 0; i < 2; ++i) job()[i].purge(1 - i);
  for (PeerIndex i = 0; i < 2; ++i) job()[i].resume(1 - i, 2);
  for (int step = 0; step < 1000 && target_ == 0; ++step) {
    if (step == 0) {
      ASSERT_EQ(job()[0].put({1, address(sink_.data()), source_.data(), kLong, address(&target_), 0, 0}),
                Submit::accepted);
    }
    job().settle();
    job().clock.advance(10 * kMillisecond);
    if (step == 20) {
      ASSERT_EQ(adapter(1).under_way.size(), 8u);
    }
    if (step >= 20 && !adapter(1).under_way.empty()) adapter(1).end(0, true);
  }
  EXPECT_EQ(target_, 1);
  EXPECT_TRUE(sink_ == source_);
  job().settle();
  EXPECT_TRUE(adapter(1).under_way.empty());
  EXPECT_EQ(adapter(0).exposed(), 0u);
}

TEST_P(BulkLoss, TheReaderIsLost) {
  put(0);
  get(1);
  job().task(0).transport.set_gone(1);
  job().task(1).transport.forget_waiting();
  for (int step = 0; step < 400 && job().task(0).host.faults.empty(); ++step) {
    job().clock.advance(100 * kMillisecond);
    job()[0].progress();
    job().task(1).transport.forget_waiting();
  }
  ASSERT_EQ(job().task(0).host.faults.size(), 1u);
  EXPECT_EQ(adapter(0).exposed(), 0u);
  EXPECT_EQ(job()[0].counters().loss_of(address(&origin_)), CounterLoss::peer_lost);
  EXPECT_EQ(adapter(0).stops, 0u) << "it reads nothing of that peer";
}

TEST_P(BulkLoss, TheReadTaskIsLost) {
  put(0);
  job().task(1).transport.set_gone(0);
  job().task(0).transport.forget_waiting();
  for (int step = 0; step < 400 && job().task(1).host.faults.empty(); ++step) {
    job().clock.advance(100 * kMillisecond);
    job()[1].progress();
    job().task(0).transport.forget_waiting();
  }
  ASSERT_EQ(job().task(1).host.faults.size(), 1u);
  EXPECT_EQ(job()[1].counters().loss_of(address(&target_)), CounterLoss::peer_lost);
  expect_abandoned(1);
}

TEST_P(BulkLoss, AnEndpointThatEndsStopsItsReadsAndWithdrawsWhatItShows) {
  put(0);
  put(1);
  for (PeerIndex i = 0; i < 2; ++i) job().task(i).endpoint.reset();
  for (PeerIndex i = 0; i < 2; ++i) {
    EXPECT_EQ(adapter(i).stops, 1u);
    EXPECT_EQ(adapter(i).exposed(), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Paths, BulkLoss, testing::Bool(),
                         [](const auto& path) { return path.param ? "Reliable" : "Channel"; });

// The key comes for a get that its origin has forgotten: the target must not wait for ever.
TEST(BulkKey, ThatNobodyWaitsForIsGivenBack) {
  BulkPair pair(true);
  pair.job.start();
  wire::RecordHeader header{static_cast<std::uint8_t>(wire::RecordKind::get_key), 0, 0, 0};
  wire::GetKeyBody body{77, 78, 4096};
  std::array<std::byte, sizeof(header) + sizeof(body)> record;
  std::memcpy(record.data(), &header, sizeof(header));
  std::memcpy(record.data() + sizeof(header), &body, sizeof(body));
  const ConstBuffer piece{record.data(), record.size()};
  const OutgoingPacket packet{{&piece, 1}, static_cast<std::uint32_t>(record.size())};
  pair.job.task(1).transport.send_burst(0, {&packet, 1});
  pair.job[0].progress();
  const MemoryTransport::Copies answer = pair.job.task(1).transport.take_waiting();
  ASSERT_EQ(answer.size(), 1u);
  const std::array<unsigned char, 16> expected = {9, 0, 0, 0, 0, 0, 0, 0, 78, 0, 0, 0, 0, 0, 0, 0};
  ASSERT_EQ(answer[0].size(), expected.size());
  EXPECT_EQ(std::memcmp(answer[0].data(), expected.data(), expected.size()), 0);
  EXPECT_EQ(pair.adapters[0].begun, 0u);
  EXPECT_EQ(pair.job[0].statistics(StatisticsPath::network).ghost_packets, 1u);
}

}  // namespace
}  // namespace openlapi
