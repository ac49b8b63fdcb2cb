// The poller with an engine that only counts: who makes progress, when doorbells are armed, and that no wake-up is
// lost.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "tests/unit/poller/fake_engine.h"

namespace openlapi {
namespace {

class PollerTest : public testing::Test {
 protected:
  static constexpr PollerConfig kConfig{kBriefly, {20, 5}, 400 * kMillisecond};

  ~PollerTest() override {
    engine.lock();
    poller.request_stop();
    engine.unlock();
    poller.join(10 * kSecond);
  }
  void start_interrupt_mode() {
    engine.lock();
    set_mode(poller, true);
    ASSERT_EQ(poller.start({}), 0);
    engine.unlock();
  }
  void user_waits(const std::function<bool()>& test) {
    Condition condition(test);
    engine.lock();
    poller.enter();
    poller.wait(condition);
    poller.leave();
    engine.unlock();
  }
  template <class Happened>
  static void eventually(Happened happened) {
    while (!happened()) std::this_thread::yield();  // the test's time-out ends it
  }

  FakeEngine engine;
  Poller poller{engine, kConfig, {&engine.source}, false};
};

TEST_F(PollerTest, DataplaneThreadHandlesWhatArrivesWhileNobodyPolls) {
  start_interrupt_mode();
  for (int packet = 1; packet <= 100; ++packet) {
    engine.source.arrive();
    eventually([&] { return engine.handled.load() == packet; });
  }
}

TEST_F(PollerTest, SleepingDataplaneThreadIsWokenByTheDoorbell) {
  start_interrupt_mode();
  for (int packet = 1; packet <= 20; ++packet) {
    eventually([&] { return engine.source.armed.load(); });
    engine.source.arrive();
    eventually([&] { return engine.handled.load() == packet; });
  }
  EXPECT_GE(engine.source.rings.load(), 20);
}

// Only a step right behind a fruitless one may leave the clock alone: nobody knows how long another thread, or the
// whole task, had the core.
TEST_F(PollerTest, StepsBehindAPauseFollowAtOnceAndOthersDoNot) {
  user_waits([&] { return engine.steps == 20; });
  EXPECT_EQ(engine.steps_again, 19u) << "the first is the call's own";
  user_waits([&] { return engine.steps == 20 + 21 + 3; });
  EXPECT_EQ(engine.steps_again, 19u + 20u) << "20 pauses, then the core is given away";
  engine.source.arrive();
  user_waits([&] { return engine.steps == 20 + 21 + 3 + 2; });
  EXPECT_EQ(engine.steps_again, 19u + 20u) << "it found something";
}

// A counter that a peer moves is what the caller waits for: where peers do, it is looked at between two steps, too.
TEST_F(PollerTest, WhatPeersMoveIsSeenBetweenSteps) {
  static std::atomic<std::uint32_t> unattended;  // outlives the poller
  const std::atomic<std::uint64_t> word{5};
  engine.next_arrival = {&word, 5};
  int looks = 0;
  user_waits([&] { return ++looks == 4; });
  EXPECT_EQ(engine.steps, 4u);
  engine.lock();
  poller.report_absence(unattended);
  engine.unlock();
  looks = 0;
  user_waits([&] { return ++looks == 4; });
  EXPECT_EQ(engine.steps, 4u + 1u);
  looks = 0;
  engine.next_arrival = {&word, 4};
  user_waits([&] { return ++looks == 4; });
  EXPECT_EQ(engine.steps, 5u + 2u) << "something has arrived, which takes a step";
}

// Nothing arrives and no timer runs: the one looks all the same, again and again, the other has no reason to.
TEST(PollerSleep, IsNoLongerThanConfigured) {
  FakeEngine restless, patient;
  Poller often(restless, {kBriefly, {20, 5}, kMillisecond}, {&restless.source}, false);
  Poller seldom(patient, {kBriefly, {20, 5}, 2'000 * kSecond}, {&patient.source}, false);
  const auto start = [](FakeEngine& engine, Poller& poller) {
    engine.lock();
    set_mode(poller, true);
    ASSERT_EQ(poller.start({}), 0);
    engine.unlock();
  };
  const auto rest = [&](int sleeps) {
    const int until = restless.source.arms.load() + sleeps;
    while (restless.source.arms.load() < until) std::this_thread::yield();
  };
  start(patient, seldom);
  while (!patient.source.armed.load()) std::this_thread::yield();
  start(restless, often);
  rest(50);  // the other one has been woken once for its mode, and sleeps again
  const std::uint64_t before = patient.steps.load();
  rest(50);
  EXPECT_EQ(patient.steps.load(), before);
  for (const auto& [engine, poller] : {std::pair{&restless, &often}, std::pair{&patient, &seldom}}) {
    engine->lock();
    poller->request_stop();
    engine->unlock();
    poller->join(10 * kSecond);
  }
}

TEST_F(PollerTest, PollingUserDisarmsTheDoorbells) {
  start_interrupt_mode();
  eventually([&] { return engine.source.armed.load(); });
  engine.lock();
  poller.enter();
  EXPECT_FALSE(engine.source.armed.load());
  engine.unlock();
  const int rings = engine.source.rings.load();
  engine.source.arrive();
  EXPECT_EQ(engine.source.rings.load(), rings);
  engine.lock();
  poller.leave();
  engine.unlock();
  eventually([&] { return engine.handled.load() == 1; });  // the dataplane thread takes charge again
}

TEST_F(PollerTest, LeavingDoesNotArm) {
  start_interrupt_mode();
  eventually([&] { return engine.source.armed.load(); });
  engine.lock();
  poller.enter();
  const int arms = engine.source.arms.load(), disarms = engine.source.disarms.load();
  for (int call = 0; call < 1000; ++call) {
    poller.enter();
    poller.leave();
  }
  EXPECT_EQ(engine.source.arms.load(), arms);
  EXPECT_EQ(engine.source.disarms.load(), disarms) << "once is enough";
  poller.leave();
  engine.unlock();
}

TEST_F(PollerTest, SleepingUserSeesWhatArrives) {
  std::thread sender([&] {
    for (int packet = 0; packet < 200; ++packet) {
      const int before = engine.handled.load();
      engine.source.arrive();
      eventually([&] { return engine.handled.load() > before; });
    }
  });
  for (int packet = 1; packet <= 200; ++packet) user_waits([&] { return engine.handled.load() >= packet; });
  sender.join();
}

TEST_F(PollerTest, SleepingUserIsToldOfWhatAnotherThreadBroughtAbout) {
  std::atomic<bool> set{false};
  std::thread waiter([&] { user_waits([&] { return set.load(); }); });
  eventually([&] { return poller.anybody_dozes(); });
  set.store(true);
  engine.lock();
  poller.wake_ready();
  engine.unlock();
  waiter.join();
  EXPECT_FALSE(poller.anybody_dozes());
}

// A put to oneself, or one whose origin counter moves in the call: the engine makes no progress with it. 400 s is
// beyond the test's time-out.
TEST(PollerSleep, SleepingUserIsToldOfWhatACallBroughtAbout) {
  for (const bool another_polls : {false, true}) {
    SCOPED_TRACE(another_polls);
    FakeEngine engine;
    Poller poller(engine, {kBriefly, {20, 5}, 400 * kSecond}, {&engine.source}, false);
    bool counter_moved = false;
    std::thread sleeper([&] {
      Condition condition([&] { return counter_moved; });
      engine.lock();
      poller.enter();
      poller.wait(condition);
      poller.leave();
      engine.unlock();
    });
    while (!poller.anybody_dozes() || engine.unlocks_elsewhere == 0) std::this_thread::yield();
    engine.lock();
    if (another_polls) poller.enter();
    counter_moved = true;
    poller.after_call();
    engine.unlock();
    sleeper.join();
    engine.lock();
    if (another_polls) poller.leave();
    engine.unlock();
  }
}

TEST_F(PollerTest, InPollingModeNobodyMakesProgressByItself) {
  start_interrupt_mode();
  eventually([&] { return engine.steps.load() > 0; });
  engine.lock();
  set_mode(poller, false);
  engine.source.arrive();
  const std::uint64_t steps = engine.steps.load();
  engine.unlock();
  for (int look = 0; look < 1000; ++look) std::this_thread::yield();
  engine.lock();
  EXPECT_EQ(engine.steps.load(), steps);
  set_mode(poller, true);
  engine.unlock();
  eventually([&] { return engine.handled.load() == 1; });
}

bool readable(const Bell& bell) {
  pollfd bell_rings{bell.descriptor(), POLLIN, 0};
  return poll(&bell_rings, 1, 0) == 1;
}

// The thread would wake up to find the lock taken.
TEST(PollerMode, NobodyIsWokenBeforeTheCallerRings) {
  FakeEngine engine;
  Poller poller(engine, {kBriefly, {20, 5}, 400 * kMillisecond}, {&engine.source}, false);
  const std::shared_ptr<Bell> bell = poller.set_interrupt_mode(true);
  ASSERT_NE(bell, nullptr);
  EXPECT_FALSE(readable(*bell));
  EXPECT_EQ(poller.set_interrupt_mode(true), nullptr) << "it is already";
  bell->ring();
  EXPECT_TRUE(readable(*bell));
  bell->silence();
  EXPECT_EQ(poller.set_interrupt_mode(false), bell);
  EXPECT_FALSE(readable(*bell));
}

// Calls that polled before, in polling mode, are no reason to nap first. The test's time-out ends it.
TEST(PollerMode, InterruptModeBeginsAtOnce) {
  for (Nanoseconds took = UINT64_MAX; took >= Poller::kShortNap;) {
    FakeEngine engine;
    Poller poller(engine, {kBriefly, {20, 5}, 400 * kMillisecond}, {&engine.source}, false);
    ASSERT_EQ(poller.start({}), 0);
    while (engine.unlocks_elsewhere.load() == 0) std::this_thread::yield();  // it is parked, or just about to be
    engine.lock();
    poller.enter();
    poller.leave();
    engine.source.arrive();
    const Nanoseconds begin = engine.now();
    set_mode(poller, true);
    engine.unlock();
    while (engine.handled.load() == 0) std::this_thread::yield();
    took = engine.now() - begin;
    engine.lock();
    poller.request_stop();
    engine.unlock();
    poller.join(10 * kSecond);
  }
}

// How often the caller gave its processor away for good; a yield counts as the other kind.
long sleeps_of_this_thread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

// sched_yield() does not let everybody run who waits for the processor; sleep does.
TEST_F(PollerTest, WhoPollsForLongOnASharedCoreSleepsNowAndThen) {
  constexpr std::uint32_t kSleeps = 10;
  engine.tick = kMillisecond;  // each yield takes so long
  engine.lock();
  const long before = sleeps_of_this_thread();
  for (std::uint32_t turn = 0; turn < kSleeps * (Poller::kLongYieldsBeforeSleep + 1); ++turn) poller.rest();
  // A sleep of a thread that is preempted on its way may be over before it has begun, and counts as none.
  EXPECT_GE(sleeps_of_this_thread() - before, kSleeps / 2);
  EXPECT_LE(sleeps_of_this_thread() - before, 3 * kSleeps);  // and whatever else keeps it waiting
  engine.unlock();
}

TEST_F(PollerTest, WhoPollsForLongOnACoreOfItsOwnKeepsIt) {
  engine.tick = 1;
  engine.lock();
  const long before = sleeps_of_this_thread();
  for (std::uint32_t turn = 0; turn < 10'000; ++turn) poller.rest();
  EXPECT_EQ(sleeps_of_this_thread(), before);
  engine.unlock();
}

TEST_F(PollerTest, CallThatLeavesWorkFlushesWhenTheDataplaneThreadSleeps) {
  start_interrupt_mode();
  eventually([&] { return engine.source.armed.load(); });
  engine.lock();
  engine.work = true;
  poller.after_call();
  EXPECT_EQ(engine.flushes, 1);
  engine.work = false;
  engine.unlock();
}

TEST_F(PollerTest, EarlierTimerPullsTheAlarmForward) {
  start_interrupt_mode();
  eventually([&] { return engine.source.armed.load(); });
  engine.lock();
  const std::uint64_t steps = engine.steps.load();
  engine.next_deadline = engine.now() + kMillisecond;
  const Nanoseconds begin = engine.now();
  poller.after_call();
  engine.unlock();
  eventually([&] { return engine.steps.load() > steps; });
  EXPECT_LT(engine.now() - begin, 200 * kSecond);
  engine.lock();
  engine.next_deadline = UINT64_MAX;
  engine.unlock();
}

TEST_F(PollerTest, ThreadEndsWhenAsked) {
  start_interrupt_mode();
  engine.lock();
  poller.request_stop();
  engine.unlock();
  poller.join(10 * kSecond);
  EXPECT_TRUE(engine.ended.load());
}

TEST_F(PollerTest, ThreadSaysThatItBeginsBeforeItPolls) {
  start_interrupt_mode();
  eventually([&] { return engine.source.armed.load(); });
  engine.lock();
  EXPECT_TRUE(engine.begun_first);
  EXPECT_EQ(engine.begun_by, engine.progress_thread);
  engine.unlock();
}

}  // namespace
}  // namespace openlapi
