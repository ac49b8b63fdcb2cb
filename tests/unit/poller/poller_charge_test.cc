// Who is in charge when several sleep.
#include "tests/unit/poller/poller_charge.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

namespace openlapi {
namespace {

TEST_F(PollerCharge, TheThreadNapsWhileAUserPollsAndTakesChargeWhenItLeaves) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  start(poller);
  enter_beside_the_thread(poller);
  engine.lock();
  const std::uint64_t steps = engine.steps;
  engine.source.arrive();
  EXPECT_FALSE(engine.source.armed);
  EXPECT_EQ(engine.steps, steps) << "it has no charge";
  engine.unlock();
  EXPECT_TRUE(stays(engine.unlocks_elsewhere)) << "a nap as long as that of the one who stays inside";
  engine.lock();
  poller.leave();
  engine.unlock();
  eventually([&] { return engine.handled == 1; });
  stop(poller);
}

TEST_F(PollerCharge, SaysWhetherAnybodyPolls) {
  std::atomic<std::uint32_t> unattended{0};
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  {
    const std::lock_guard guard(engine);
    poller.report_absence(unattended);
    EXPECT_EQ(unattended, 1u);
    poller.enter();
    poller.enter();
    EXPECT_EQ(unattended, 0u);
    poller.leave();
    EXPECT_EQ(unattended, 0u);
    poller.leave();
    EXPECT_EQ(unattended, 1u);
  }
  std::atomic<bool> happened = false;
  std::thread alone = sleeper(poller, [&] { return happened.load(); });
  eventually([&] { return engine.source.armed && unattended == 1; });  // in polling mode
  {
    const std::lock_guard guard(engine);
    happened = true;
    poller.wake_ready();
  }
  alone.join();
  EXPECT_EQ(unattended, 1u);
  std::atomic<std::uint32_t> during{2};
  engine.meanwhile = [&] { during = unattended.load(); };
  start(poller);
  eventually([&] { return during != 2; });
  EXPECT_EQ(during, 0u) << "the thread is in charge, in a step";
  enter_beside_the_thread(poller);
  EXPECT_EQ(unattended, 0u);
  {
    const std::lock_guard guard(engine);
    poller.leave();
  }
  eventually([&] { return engine.source.armed && unattended == 1; });
  stop(poller);
  EXPECT_EQ(unattended, 1u);
}

// The thread is in charge and in a step when somebody comes: it must not be taken for one that goes on.
TEST_F(PollerCharge, TheThreadTakesChargeBehindAUserWhoCameDuringItsStep) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  std::atomic<bool> inside = false;
  engine.meanwhile = [&] {
    const std::lock_guard guard(engine);
    poller.enter();
    inside = true;
  };
  start(poller);
  eventually([&] { return inside && engine.unlocks_elsewhere >= 4; });  // in and behind that step, in two naps
  engine.lock();
  engine.source.arrive();
  poller.leave();
  engine.unlock();
  eventually([&] { return engine.handled == 1; });
  stop(poller);
}

// Whoever switches modes rings when it has released the lock, by when the thread may nap in the new one.
TEST_F(PollerCharge, ABellThatRingsLateEndsOneNap) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  start(poller);
  enter_beside_the_thread(poller);
  const int unlocks = engine.unlocks_elsewhere;
  bell->ring();
  eventually([&] { return engine.unlocks_elsewhere > unlocks; });
  EXPECT_TRUE(stays(engine.unlocks_elsewhere));
  engine.lock();
  poller.leave();
  engine.unlock();
  stop(poller);
}

// It is not woken for that.
TEST_F(PollerCharge, ACallBesideTheSleepingThreadLeavesItToLookRoundSoon) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  start(poller);
  eventually([&] { return engine.source.armed.load(); });
  engine.lock();
  poller.enter();
  engine.source.arrive();
  poller.leave();
  engine.unlock();
  eventually([&] { return engine.handled == 1; });
  stop(poller);
}

TEST_F(PollerCharge, TheThreadTakesChargeBehindAUserWhoSlept) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  start(poller);
  eventually([&] { return engine.source.armed.load(); });
  std::atomic<bool> over = false;
  std::thread waiting = sleeper(poller, [&] { return over.load(); });
  eventually([&] { return poller.anybody_dozes(); });
  engine.lock();
  over = true;
  poller.wake_ready();
  engine.unlock();
  waiting.join();
  engine.source.arrive();
  eventually([&] { return engine.handled == 1; });
  comes_to_rest(engine.source.arms);
  stop(poller);
}

TEST_F(PollerCharge, ACallThatLeavesWorkBesideANappingThreadSendsIt) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  start(poller);
  enter_beside_the_thread(poller);
  engine.lock();
  poller.leave();
  engine.work = true;
  poller.after_call();
  EXPECT_EQ(engine.flushes, 1);
  engine.work = false;
  engine.unlock();
  stop(poller);
}

// It looks round soon, however often they come.
TEST_F(PollerCharge, CallsInARowDoNotPutTheThreadOff) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  start(poller);
  eventually([&] { return engine.source.armed.load(); });
  for (const int until = engine.unlocks_elsewhere + 3; engine.unlocks_elsewhere < until;) {
    const std::lock_guard guard(engine);
    poller.enter();
    poller.leave();
  }
  stop(poller);
}

TEST_F(PollerCharge, WhoSleepsBesideTheRunningThreadLeavesItInCharge) {
  Poller poller(engine, config(ThreadPolicy::spin), {&engine.source}, false);
  start(poller);
  eventually([&] { return engine.steps > 0; });
  std::thread waiting = sleeper(poller, [&] { return engine.handled == 1; });
  eventually([&] { return poller.anybody_dozes(); });
  engine.source.arrive();
  waiting.join();
  EXPECT_EQ(engine.source.arms, 0);
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
  const int asleep = engine.unlocks_elsewhere;
  poller.leave();
  engine.unlock();
  eventually([&] { return engine.unlocks_elsewhere > asleep; });
  EXPECT_TRUE(engine.source.armed);
  EXPECT_TRUE(stays(engine.unlocks_elsewhere)) << "the bell rings no more";
  engine.source.arrive();
  waiting.join();
}

TEST_F(PollerCharge, WhoPollsWakesThoseForWhomItHasBroughtSomethingAbout) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  std::atomic<bool> up = false;
  std::thread waiting = sleeper(poller, [&] { return engine.handled == 1; });
  eventually([&] { return engine.source.armed && engine.unlocks_elsewhere > 0; });
  std::thread waker([&] {
    waiting.join();
    up = true;
  });
  Condition condition([&] { return up.load(); });
  engine.lock();
  poller.enter();
  engine.source.arrive();
  poller.wait(condition, {0, UINT32_MAX});
  poller.leave();
  engine.unlock();
  waker.join();
}

// Also when that was all that it polled for, and another one polls on.
TEST_F(PollerCharge, WhoPollsWakesThemInItsLastStepToo) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  engine.lock();
  poller.enter();
  engine.unlock();
  std::thread waiting = sleeper(poller, [&] { return engine.handled == 1; });
  eventually([&] { return poller.anybody_dozes() && engine.unlocks_elsewhere > 0; });
  Condition condition([&] { return engine.handled == 1; });
  engine.lock();
  poller.enter();
  engine.source.arrive();
  poller.wait(condition, {0, UINT32_MAX});
  poller.leave();
  engine.unlock();
  waiting.join();
  engine.lock();
  poller.leave();
  engine.unlock();
}

// ... and once for each time that one rings: the next sleep is one again.
TEST_F(PollerCharge, WhoWasWokenInVainSleepsOn) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  std::atomic<bool> first = false, second = false;
  engine.lock();
  poller.enter();
  engine.unlock();
  std::thread sleepers[] = {sleeper(poller, [&] { return first.load(); }),
                            sleeper(poller, [&] { return second.load(); })};
  for (std::atomic<bool>* over : {&first, &second}) {
    comes_to_rest(engine.steps);
    engine.lock();
    *over = true;
    poller.wake_ready();
    engine.unlock();
  }
  for (std::thread& sleeper : sleepers) sleeper.join();
  engine.lock();
  poller.leave();
  engine.unlock();
}

// Nor is the bell heard that another one's sleep has ended with.
TEST_F(PollerCharge, WhoSleepsBehindOneThatWasWokenSleepsOn) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  for (const bool first : {true, false}) {
    std::atomic<bool> over = false;
    const int before = engine.unlocks_elsewhere;
    std::thread waiting = sleeper(poller, [&] { return over.load(); });
    eventually([&] { return engine.unlocks_elsewhere > before; });
    EXPECT_TRUE(first || stays(engine.unlocks_elsewhere));
    engine.lock();
    over = true;
    poller.wake_ready();
    engine.unlock();
    waiting.join();
  }
}

TEST_F(PollerCharge, ATimerEndsASleep) {
  for (const bool of_the_thread : {false, true}) {
    SCOPED_TRACE(of_the_thread);
    FakeEngine own;
    own.next_deadline = own.now() + 5 * kMillisecond;
    Poller poller(own, config(ThreadPolicy::sleep), {&own.source}, false);
    Condition condition([&] { return own.steps >= 3; });
    const std::lock_guard guard(own);
    if (of_the_thread) {
      const auto bell = poller.set_interrupt_mode(true);
      ASSERT_EQ(poller.start({}), 0);
      own.unlock();
      eventually([&] { return own.steps >= 3; });
      own.lock();
      poller.request_stop();
      own.unlock();
      poller.join(10 * kSecond);
      own.lock();
    } else {
      poller.enter();
      poller.wait(condition, kSleepAtOnce);
      poller.leave();
    }
  }
}

// A doorbell that stays armed costs who sends.
TEST_F(PollerCharge, WhoCannotSleepDisarms) {
  for (const bool for_work : {false, true}) {
    SCOPED_TRACE(for_work);
    FakeEngine own;
    own.work = for_work;
    own.next_deadline = for_work ? UINT64_MAX : 0;
    Poller poller(own, config(ThreadPolicy::sleep), {&own.source}, false);
    own.lock();
    const auto bell = poller.set_interrupt_mode(true);
    ASSERT_EQ(poller.start({}), 0);
    own.unlock();
    eventually([&] { return own.source.arms > 10; });
    own.lock();
    EXPECT_FALSE(own.source.armed);
    poller.request_stop();
    own.unlock();
    poller.join(10 * kSecond);
  }
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
  engine.unlock();
  comes_to_rest(engine.steps);
  over = true;
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
  bool immediate() const override { return true; }
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
