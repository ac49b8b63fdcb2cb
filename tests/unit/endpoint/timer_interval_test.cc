// MP_RETRANSMIT_INTERVAL: how many idle steps go by before an endpoint looks at its timers again.
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "dataplane/tuning.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

std::uint64_t address(const void* place) { return reinterpret_cast<std::uintptr_t>(place); }

// Steps of a task that waits for a dead one until its timers tell it.
unsigned steps_until_the_loss_is_seen(std::uint32_t interval) {
  EndpointConfig config;
  config.idle_loops_between_timers = interval;
  Job job(2, config);
  for (PeerIndex i = 0; i < 2; ++i) job.task(i).transport.set_room(100);
  job.start();
  std::uint64_t word = 0;
  EXPECT_EQ(job[0].read_modify_write({1, wire::RmwOperation::fetch_and_add, 8, address(&word), 1, 0, nullptr, 0}),
            Submit::accepted);
  job.task(0).transport.set_gone(1);
  job.clock.advance(kSecond);
  unsigned steps = 0;
  while (job.task(0).host.faults.empty() && steps < 100'000) {
    job[0].progress();
    ++steps;
  }
  EXPECT_EQ(job.task(0).host.faults.size(), 1u);
  return steps;
}

TEST(TimerInterval, TimersAreLookedAtAfterSoManyIdleSteps) {
  // One more step: the first look finds that the task is gone, the next one that nothing of it waits.
  for (const std::uint32_t interval : {1u, 1000u, 5000u}) {
    EXPECT_EQ(steps_until_the_loss_is_seen(interval), interval + 1) << interval;
  }
}

TEST(TimerInterval, ALongIntervalIsAnUpperBound) {
  for (const std::uint32_t interval : {10'000u, 1'000'000u, 2'147'483'647u}) {
    EXPECT_EQ(steps_until_the_loss_is_seen(interval), tuning::kIdleLoopsBetweenTimers + 1) << interval;
  }
}

}  // namespace
}  // namespace openlapi
