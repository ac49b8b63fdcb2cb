// Who is in charge when several sleep: nothing but what the test does wakes anybody, so that a wake-up that is missing
// lasts for ever.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/unit/poller/fake_engine.h"

namespace openlapi {
namespace {

constexpr Nanoseconds kForEver = 2'000 * kSecond;  // beyond the test's time-out

class PollerCharge : public testing::Test {
 protected:
  static constexpr PollerConfig config(ThreadPolicy policy) { return {{policy, 20 * kMicrosecond}, {20, 5}, kForEver}; }
  void start(Poller& poller) {
    const std::lock_guard guard(engine);
    bell_ = poller.set_interrupt_mode(true);
    bell_->ring();
    ASSERT_EQ(poller.start({}), 0);
  }
  // A user thread polls, and the dataplane thread, which slept in charge, naps: for a short time, because somebody has
  // just come, then for long.
  void enter_beside_the_thread(Poller& poller) {
    eventually([&] { return engine.source.armed.load(); });
    engine.lock();
    const int unlocks = engine.unlocks_elsewhere;
    poller.enter();
    bell_->ring();
    engine.unlock();
    eventually([&] { return engine.unlocks_elsewhere >= unlocks + 2; });
  }
  void stop(Poller& poller) {
    {
      const std::lock_guard guard(engine);
      poller.request_stop();
    }
    poller.join(10 * kSecond);
  }
  // A user thread that goes to sleep at once and waits for that to hold.
  std::thread sleeper(Poller& poller, std::function<bool()> test) {
    return std::thread([this, &poller, test = std::move(test)] {
      Condition condition(test);
      const std::lock_guard guard(engine);
      poller.enter();
      poller.wait(condition, kSleepAtOnce);
      poller.leave();
    });
  }
  template <class Happened>
  static void eventually(Happened happened) {
    while (!happened()) std::this_thread::yield();  // the test's time-out ends it
  }

  FakeEngine engine;

 private:
  std::shared_ptr<Bell> bell_;
};

TEST_F(PollerCharge, TheThreadNapsWhileAUserPollsAndTakesChargeWhenItLeaves) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  start(poller);
  enter_beside_the_thread(poller);
  engine.lock();
  const std::uint64_t steps = engine.steps;
  engine.source.arrive();
  EXPECT_FALSE(engine.source.armed);
  EXPECT_EQ(engine.steps, steps) << "it has no charge";
  poller.leave();
  engine.unlock();
  eventually([&] { return engine.handled == 1; });
  stop(poller);
}

TEST_F(PollerCharge, TheThreadEndsWhileAUserPolls) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  start(poller);
  enter_beside_the_thread(poller);
  stop(poller);
  EXPECT_TRUE(engine.ended);
  engine.lock();
  poller.leave();
  engine.unlock();
}

// In polling mode nobody else looks after it.
TEST_F(PollerCharge, TheLastOneThatPollsWakesWhoSleeps) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  engine.lock();
  poller.enter();
  engine.unlock();
  std::thread waiting = sleeper(poller, [&] { return engine.handled == 1; });
  eventually([&] { return poller.anybody_dozes() && engine.unlocks_elsewhere > 0; });
  EXPECT_FALSE(engine.source.armed) << "it leaves that to the one that polls";
  engine.lock();
  poller.leave();
  engine.unlock();
  eventually([&] { return engine.source.armed.load(); });
  engine.source.arrive();
  waiting.join();
}

TEST_F(PollerCharge, WhoSleptBesideTheThreadLooksAfterItselfWhenPollingModeBegins) {
  Poller poller(engine, config(ThreadPolicy::spin), {&engine.source}, false);
  start(poller);
  eventually([&] { return engine.steps > 0; });
  std::atomic<bool> over = false;
  std::thread waiting = sleeper(poller, [&] { return over.load(); });
  eventually([&] { return poller.anybody_dozes(); });
  engine.lock();
  set_mode(poller, false);
  engine.unlock();
  eventually([&] { return engine.source.armed.load(); });
  over = true;
  engine.source.arrive();
  waiting.join();
  stop(poller);
}

TEST_F(PollerCharge, ACallThatLeavesWorkWakesTheUserThatSleepsInCharge) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  std::atomic<bool> over = false;
  std::thread waiting = sleeper(poller, [&] { return over.load(); });
  eventually([&] { return engine.source.armed && engine.unlocks_elsewhere > 0; });
  engine.lock();
  const std::uint64_t before = engine.steps;
  poller.after_call();
  EXPECT_EQ(engine.flushes, 0);
  engine.work = true;
  poller.after_call();
  EXPECT_EQ(engine.flushes, 1);
  engine.unlock();
  eventually([&] { return engine.steps > before; });
  engine.lock();
  engine.work = false;
  over = true;
  engine.unlock();
  engine.source.arrive();
  waiting.join();
}

TEST_F(PollerCharge, ACallWithAnEarlierTimerWakesTheUserThatSleepsInCharge) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  std::atomic<bool> over = false;
  std::thread waiting = sleeper(poller, [&] { return over.load(); });
  eventually([&] { return engine.source.armed && engine.unlocks_elsewhere > 0; });
  engine.lock();
  const std::uint64_t before = engine.steps;
  engine.next_deadline = engine.now() + kSecond;
  poller.after_call();
  engine.unlock();
  eventually([&] { return engine.steps > before; });
  engine.lock();
  engine.next_deadline = UINT64_MAX;
  over = true;
  engine.unlock();
  engine.source.arrive();
  waiting.join();
}

// Refuses to be armed a few times, and looks then what became of the one before it.
class Reluctant final : public WakeSource {
 public:
  explicit Reluctant(FakeSource& before) : before_(before) {}
  int descriptor() const override { return before_.descriptor(); }
  bool arm() override {
    left_armed = left_armed || (refusals > 0 && before_was_armed_);
    ++refusals;
    return false;
  }
  void disarm() override { ++disarmed; }
  void look() { before_was_armed_ = before_.armed; }

  int refusals = 0;
  int disarmed = 0;
  bool left_armed = false;

 private:
  FakeSource& before_;
  bool before_was_armed_ = false;
};

TEST_F(PollerCharge, WhereOneSourceHasSomethingNoneStaysArmed) {
  FakeSource first;
  Reluctant second(first);
  Poller poller(engine, config(ThreadPolicy::sleep), {&first, &second}, false);
  sleeper(poller, [&] {
    second.look();
    return second.refusals == 3;
  }).join();
  EXPECT_EQ(first.arms, 3);
  EXPECT_FALSE(second.left_armed);
  EXPECT_FALSE(first.armed);
  EXPECT_EQ(second.disarmed, 0) << "it was not armed";
}

}  // namespace
}  // namespace openlapi
