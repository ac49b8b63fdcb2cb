// What the dataplane thread does under each policy, and who wakes it.
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "tests/unit/poller/fake_engine.h"

namespace openlapi {
namespace {

class PollerPolicy : public testing::Test {
 protected:
  void start(ThreadPolicy policy, bool blind = false) { start(PacingLimits{policy, 20 * kMicrosecond}, blind); }
  void start(const PacingLimits& limits, bool blind = false) {
    std::vector<WakeSource*> sources;
    if (!blind) sources.push_back(&engine.source);
    const PollerConfig config{limits, {20, 5}, 2'000 * kSecond};
    poller = std::make_unique<Poller>(engine, config, sources, blind);
    engine.lock();
    set_mode(*poller, true);
    ASSERT_EQ(poller->start({}), 0);
    engine.unlock();
  }
  ~PollerPolicy() override {
    engine.lock();
    poller->request_stop();
    engine.unlock();
    poller->join(10 * kSecond);
  }
  // Packets one after the other; each is handled before the next one comes.
  void send(int packets) {
    for (int packet = 0; packet < packets; ++packet) {
      const int before = engine.handled.load();
      engine.source.arrive();
      while (engine.handled.load() == before) std::this_thread::yield();
    }
  }
  void steps(std::uint64_t more) {
    const std::uint64_t until = engine.steps.load() + more;
    while (engine.steps.load() < until) std::this_thread::yield();
  }

  FakeEngine engine;
  std::unique_ptr<Poller> poller;
};

TEST_F(PollerPolicy, SpinNeverArms) {
  start(ThreadPolicy::spin);
  steps(10'000);
  send(100);
  steps(10'000);
  EXPECT_EQ(engine.source.arms.load(), 0);
  EXPECT_EQ(engine.hand_overs, 0);
  engine.lock();
  engine.lock_wanted = true;
  engine.unlock();
  while (engine.hand_overs < 3) std::this_thread::yield();
}

// It pauses, and nothing but that.
TEST_F(PollerPolicy, SpinOnACoreOfItsOwnLeavesTheLockToOthers) {
  start(PacingLimits{ThreadPolicy::spin, 0, false});
  for (int turn = 0; turn < 10; ++turn) {
    steps(1'000);
    engine.lock();
    engine.unlock();
  }
}

// The dataplane thread still counts as running when a user thread, which has switched to polling mode, goes to sleep:
// it has charge no more as soon as it gets the lock, so the sleeper has to look after itself.
TEST_F(PollerPolicy, WhoSleepsJustAfterSwitchingToPollingSeesWhatArrives) {
  start(ThreadPolicy::spin);
  steps(100);
  std::thread sender([&] {
    while (!engine.source.armed.load()) std::this_thread::yield();
    engine.source.arrive();
  });
  Condition condition([&] { return engine.handled.load() == 1; });
  engine.lock();
  set_mode(*poller, false);
  poller->enter();
  poller->wait(condition, kSleepAtOnce);
  poller->leave();
  engine.unlock();
  sender.join();
  EXPECT_EQ(engine.handled.load(), 1);
}

TEST_F(PollerPolicy, SleepArmsAfterEveryPacket) {
  start(ThreadPolicy::sleep);
  for (int packet = 1; packet <= 50; ++packet) {
    while (!engine.source.armed.load()) std::this_thread::yield();
    const std::uint64_t before = engine.steps.load();
    send(1);
    while (!engine.source.armed.load()) std::this_thread::yield();
    // The packet's step, and one that finds nothing.
    EXPECT_LE(engine.steps.load(), before + 3);
  }
  EXPECT_GE(engine.source.rings.load(), 50);
  engine.lock();
  EXPECT_FALSE(engine.armed_in_a_step) << "who sends to one that is awake need not ring";
  engine.unlock();
}

// It sleeps for longer than the test may take, so that nothing but the call wakes it.
TEST_F(PollerPolicy, ACallThatLeavesWorkWakesTheThread) {
  start(ThreadPolicy::sleep);
  while (!engine.source.armed.load()) std::this_thread::yield();
  engine.lock();
  const std::uint64_t before = engine.steps.load();
  engine.work = true;
  poller->after_call();
  engine.unlock();
  while (engine.steps.load() == before) std::this_thread::yield();
  engine.lock();
  engine.work = false;
  engine.unlock();
}

TEST_F(PollerPolicy, ACallWithAnEarlierTimerWakesTheThreadInTimeAndALaterOneDoesNotPutItOff) {
  start(ThreadPolicy::sleep);
  while (!engine.source.armed.load()) std::this_thread::yield();
  engine.lock();
  const std::uint64_t before = engine.steps.load();
  for (const Nanoseconds from_now : {20 * kMillisecond, 1'000 * kSecond}) {
    engine.next_deadline = engine.now() + from_now;
    poller->after_call();
  }
  engine.unlock();
  while (engine.steps.load() == before) std::this_thread::yield();
  engine.lock();
  engine.next_deadline = UINT64_MAX;
  engine.unlock();
}

TEST_F(PollerPolicy, ATimerThatIsOverdueBehindACallWakesTheThreadAtOnce) {
  start(ThreadPolicy::sleep);
  while (!engine.source.armed.load()) std::this_thread::yield();
  engine.lock();
  const std::uint64_t before = engine.steps.load();
  engine.next_deadline = engine.now() - 1;
  poller->after_call();
  engine.unlock();
  while (engine.steps.load() == before) std::this_thread::yield();
  engine.lock();
  engine.next_deadline = UINT64_MAX;
  engine.unlock();
}

// Nothing can wake it: it looks round by itself, a few times for each packet and then every 4 ms, never without end.
TEST_F(PollerPolicy, WithoutAWakeSourceItLooksRoundEverMoreSeldom) {
  start(ThreadPolicy::sleep, true);
  send(20);
  steps(20);  // the sleeps have grown
  const Nanoseconds begin = engine.now();
  const std::uint64_t before = engine.steps.load();
  steps(10);
  const std::uint64_t done = engine.steps.load() - before;
  EXPECT_GE(engine.now() - begin, (done - 1) * kLongestBlindSleep / 2);
  send(20);
}

}  // namespace
}  // namespace openlapi
