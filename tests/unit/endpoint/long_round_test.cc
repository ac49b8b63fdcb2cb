// Rounds of an exchange that are longer than a packet, on ways with and without room.
#include <gtest/gtest.h>

#include <algorithm>

#include "dataplane/sync/collectives.h"
#include "dataplane/tuning.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

constexpr PeerIndex kTasks = 200;  // the last rounds carry 512 and 576 bytes

struct Way {
  const char* name;
  bool reliable;
  std::size_t room;  // packets, at each
};

class LongRound : public testing::TestWithParam<Way> {
 protected:
  LongRound() : job_(kTasks, config(), tuning::kSmallestRecord + (GetParam().reliable ? 0 : 56)) {
    for (PeerIndex i = 0; i < kTasks; ++i) {
      if (!GetParam().reliable) job_.task(i).transport.make_lossy(0, 1);
      job_.task(i).transport.set_room(GetParam().room);
      job_.task(i).epoch_of_peers = 1;
    }
    job_.start();
  }
  static EndpointConfig config() {
    EndpointConfig config;
    config.idle_loops_between_timers = 1;
    return config;
  }

  bool all_are(CollectiveState state) {
    for (PeerIndex i = 0; i < kTasks; ++i) {
      if (job_[i].collectives().state() != state) return false;
    }
    return true;
  }
  void run_until(CollectiveState state) {
    for (int step = 0; step < 2000 && !all_are(state); ++step) {
      for (PeerIndex i = 0; i < kTasks; ++i) job_[i].progress();
      job_.clock.advance(kMillisecond);
    }
    EXPECT_TRUE(all_are(state));
  }

  Job job_;
};

TEST_P(LongRound, BringsAllValues) {
  std::vector<std::uint64_t> values;
  for (PeerIndex i = 0; i < kTasks; ++i) values.push_back(std::uint64_t{0x0101010101010101} * i + 7);
  // What is put before a round arrives beside it.
  std::uint64_t sent = 42, arrived = 0;
  for (PeerIndex i = 0; i < kTasks; ++i) {
    const auto sink = reinterpret_cast<std::uintptr_t>(&arrived);
    ASSERT_EQ(job_[i].put({(i + kTasks - 64) % kTasks, sink, &sent, 8, 0, 0, 0}), Submit::accepted);
    job_[i].collectives().begin_exchange(values[i]);
  }
  run_until(CollectiveState::filled);
  for (PeerIndex i = 0; i < kTasks; ++i) {
    EXPECT_TRUE(std::ranges::equal(job_[i].collectives().exchanged(), values)) << i;
    job_[i].collectives().confirm_exchange();
  }
  run_until(CollectiveState::done);
  for (int step = 0; step < 100; ++step) {  // the last acknowledgements
    for (PeerIndex i = 0; i < kTasks; ++i) job_[i].progress();
    job_.clock.advance(kMillisecond);
  }
  EXPECT_EQ(arrived, sent);
  for (PeerIndex i = 0; i < kTasks; ++i) {
    EXPECT_EQ(job_[i].unfinished().not_taken, 0u) << i;
    EXPECT_TRUE(job_.task(i).host.faults.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, LongRound,
                         testing::Values(Way{"reliable", true, 64}, Way{"reliable_full", true, 1},
                                         Way{"channel", false, 64}, Way{"channel_full", false, 2}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace openlapi
