// The poller with an engine that only counts: who makes progress, when doorbells are armed, and that no wake-up is
// lost.
#include "dataplane/poller/poller.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace openlapi {
namespace {

// A source whose packets are a number that other threads raise; rings only while armed, as the interface says.
class FakeSource final : public WakeSource {
 public:
  FakeSource() : descriptor_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  ~FakeSource() { close(descriptor_); }
  int descriptor() const override { return descriptor_; }
  bool arm() override {
    ++arms;
    armed.store(true);
    if (waiting.load() == 0) return true;
    disarm();
    return false;
  }
  void disarm() override {
    armed.store(false);
    eventfd_t count;
    eventfd_read(descriptor_, &count);
  }
  void arrive() {
    waiting.fetch_add(1);
    if (armed.load()) {
      ++rings;
      eventfd_write(descriptor_, 1);
    }
  }

  std::atomic<int> waiting{0};
  std::atomic<bool> armed{false};
  std::atomic<int> arms{0};
  std::atomic<int> rings{0};

 private:
  int descriptor_;
};

class FakeEngine final : public PolledEngine {
 public:
  void lock() override { mutex_.lock(); }
  void unlock() override {
    if (std::this_thread::get_id() != creator_) ++unlocks_elsewhere;
    mutex_.unlock();
  }
  void hand_over_lock() override {}
  ArrivalWord arrival_word() override { return {}; }
  StepOutcome progress(Step step) override {
    progress_thread = std::this_thread::get_id();
    ++steps;
    if (step == Step::again) ++steps_again;
    const int arrived = source.waiting.exchange(0);
    handled.fetch_add(arrived);
    return {static_cast<unsigned>(arrived), false};
  }
  void flush() override { ++flushes; }
  bool has_work() override { return work; }
  Nanoseconds deadline() override { return next_deadline; }
  Nanoseconds now() override {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<Nanoseconds>(time.tv_sec) * kSecond + static_cast<Nanoseconds>(time.tv_nsec);
  }
  void thread_begins() override {
    begun_first = steps == 0;
    begun_by = std::this_thread::get_id();
  }
  void thread_ends() override { ended.store(true); }

  FakeSource source;
  std::atomic<int> handled{0};
  std::atomic<std::uint64_t> steps{0};
  std::uint64_t steps_again = 0;
  std::atomic<bool> ended{false};
  std::atomic<int> unlocks_elsewhere{0};
  std::thread::id progress_thread;
  std::thread::id begun_by;
  bool begun_first = false;  // before any progress
  int flushes = 0;
  bool work = false;
  Nanoseconds next_deadline = UINT64_MAX;

 private:
  const std::thread::id creator_ = std::this_thread::get_id();
  std::mutex mutex_;
};

class Condition final : public WaitCondition {
 public:
  explicit Condition(std::function<bool()> test) : test_(std::move(test)) {}
  bool holds() override { return test_(); }

 private:
  std::function<bool()> test_;
};

// With the engine's lock held.
void set_mode(Poller& poller, bool interrupt) {
  if (const auto bell = poller.set_interrupt_mode(interrupt)) bell->ring();
}

constexpr ServiceLimits kBriefly{ThreadPolicy::adaptive, 20 * kMicrosecond};

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

// The policies, with the thread at work.
class PollerPolicy : public testing::Test {
 protected:
  void start(ThreadPolicy policy, bool blind = false) {
    std::vector<WakeSource*> sources;
    if (!blind) sources.push_back(&engine.source);
    const PollerConfig config{{policy, 20 * kMicrosecond}, {20, 5}, 2'000 * kSecond};
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
  const int arms = engine.source.arms.load();
  for (int call = 0; call < 1000; ++call) {
    poller.enter();
    poller.leave();
  }
  EXPECT_EQ(engine.source.arms.load(), arms);
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
