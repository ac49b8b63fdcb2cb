// The floors with two real processes: they end, and give as many samples as were asked for.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "bench/perf/attach_floor.h"
#include "bench/perf/memory_floor.h"
#include "bench/perf/udp_sockets.h"
#include "bench/perf/wake_floor.h"

namespace openlapi::bench {
namespace {

// Runs `body` in this process as task 0 and in a child as task 1, each with its own mapping of one region.
void in_two_processes(const std::function<void(SharedRegion&)>& body) {
  SharedRegion mine;
  std::string error;
  ASSERT_TRUE(mine.create(error)) << error;
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    SharedRegion theirs;
    if (!theirs.open(mine.ticket(), error)) _exit(2);
    body(theirs);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  body(mine);
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(SharedRegion, TasksAgreeAndExchange) {
  in_two_processes([](SharedRegion& region) {
    EXPECT_EQ(region.agree(region.side() == 0 ? 42 : 7), 42u);
    EXPECT_EQ(region.exchange(100 + static_cast<std::uint64_t>(region.side())),
              100u + static_cast<std::uint64_t>(region.other()));
  });
}

TEST(SharedRegion, SaysWhatCannotBeOpened) {
  SharedRegion region;
  std::string error;
  EXPECT_FALSE(region.open((std::uint64_t{1} << 62) | 3, error));
  EXPECT_NE(error.find("/proc/"), std::string::npos) << error;
}

TEST(MemoryFloor, EveryKindEndsWithItsSamples) {
  in_two_processes([](SharedRegion& region) {
    MemoryFloor floor(region);
    for (int round = 0; round < 3; ++round) {  // each leaves the region fit for the next
      Samples flag, bytes, fetch, both, ring;
      floor.flag(40, 2, &flag);
      floor.bytes(40, 8192, &bytes);
      floor.fetch(40, 1000, &fetch);
      floor.both_ways(40, 64, &both);
      floor.ring(1000, &ring);
      EXPECT_EQ(flag.size(), 10u);
      EXPECT_EQ(bytes.size(), 10u);
      EXPECT_EQ(fetch.size(), 10u);
      EXPECT_EQ(both.size(), 10u);
      EXPECT_EQ(ring.size(), 1u);
    }
  });
}

TEST(AttachFloor, CopiesBothWays) {
  in_two_processes([](SharedRegion& region) {
    AttachFloor floor(region, 1 << 20);
    if (!floor.usable()) return;
    Samples push, warm, pull, both;
    floor.push(5, 1 << 20, Regime::fresh, &push);
    floor.push(5, 65536, Regime::warm, &warm);
    floor.pull(5, 65536, Regime::fresh, &pull);
    floor.both_ways(5, 65536, &both);
    for (const Samples* samples : {&push, &warm, &pull, &both}) EXPECT_EQ(samples->size(), 5u);
  });
}

TEST(WakeFloor, WakesASleeper) {
  in_two_processes([](SharedRegion& region) {
    const auto peer = static_cast<pid_t>(region.exchange(static_cast<std::uint64_t>(getpid())));
    Samples samples;
    futex_wake_round_trip(region, peer, 5, &samples);
    EXPECT_EQ(samples.size(), 5u);
    Sleeper sleeper(region);
    if (region.side() == 1) {
      sleeper.sleep();
    } else {
      sleeper.begin();
      EXPECT_TRUE(wait_until_asleep(peer, 0, 10'000));
      sleeper.wake();
    }
  });
}

TEST(WakeFloor, ABusyProcessIsNotAsleep) {
  EXPECT_FALSE(wait_until_asleep(getpid(), 0, 1));
  EXPECT_TRUE(wait_until_asleep(getpid(), gettid(), 1)) << "no thread but this one";
}

TEST(UdpSockets, PingPongAndStream) {
  in_two_processes([](SharedRegion& region) {
    UdpSockets sockets(region);
    std::string error;
    ASSERT_TRUE(sockets.open(error)) << error;
    Samples ping, stream, small, both;
    sockets.ping_pong(20, 8, 2, &ping);
    sockets.stream(2, 1 << 20, &stream);
    sockets.small_segments(1000, &small);
    sockets.both_ways(20, 1024, &both);
    if (region.side() != 0) return;
    EXPECT_GT(ping.size(), 0u);
    EXPECT_EQ(stream.size(), 2u);
    EXPECT_EQ(small.size(), 1u);
    EXPECT_EQ(both.size(), 20u);
  });
}

}  // namespace
}  // namespace openlapi::bench
