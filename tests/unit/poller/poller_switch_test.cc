// From interrupt mode to polling mode, while others sleep or poll.
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <memory>
#include <thread>

#include "tests/unit/poller/poller_charge.h"

namespace openlapi {
namespace {

// The thread that is about to park, whatever it does until it notices, is nobody who looks after it either.
class PollerSwitch : public PollerCharge {
 protected:
  // With the lock, which it has again when it returns.
  void the_last_one_that_polls_wakes_who_sleeps(Poller& poller) {
    poller.enter();
    bool over = false;
    engine.unlock();
    std::thread waiting = sleeper(poller, [&] { return over; });
    eventually([&] { return poller.anybody_dozes(); });
    engine.lock();
    EXPECT_FALSE(engine.source.armed) << "it leaves that to the one that polls";
    poller.leave();
    engine.unlock();
    eventually([&] { return engine.source.armed.load(); });
    engine.lock();
    over = true;
    poller.wake_ready();
    engine.unlock();
    waiting.join();
    engine.lock();
  }
};

TEST_F(PollerSwitch, WhileTheThreadSleepsInCharge) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  start(poller);
  eventually([&] { return engine.source.armed.load(); });
  engine.lock();
  const auto rings_later = poller.set_interrupt_mode(false);
  the_last_one_that_polls_wakes_who_sleeps(poller);
  engine.unlock();
  stop(poller);
}

TEST_F(PollerSwitch, WhileTheThreadNaps) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  start(poller);
  enter_beside_the_thread(poller);
  engine.lock();
  poller.leave();
  const auto rings_later = poller.set_interrupt_mode(false);
  the_last_one_that_polls_wakes_who_sleeps(poller);
  engine.unlock();
  stop(poller);
}

TEST_F(PollerSwitch, WhileTheThreadIsInAStep) {
  Poller poller(engine, config(ThreadPolicy::spin), {&engine.source}, false);
  std::atomic<bool> in_step = false, step_ends = false;
  engine.meanwhile = [&] {
    in_step = true;
    eventually([&] { return step_ends.load(); });
  };
  start(poller);
  eventually([&] { return in_step.load(); });
  engine.lock();
  const auto rings_later = poller.set_interrupt_mode(false);
  the_last_one_that_polls_wakes_who_sleeps(poller);
  engine.unlock();
  step_ends = true;
  stop(poller);
}

// What is left of a thread that has ended looks after nobody.
TEST_F(PollerSwitch, BehindTheThreadsEnd) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  start(poller);
  eventually([&] { return engine.source.armed.load(); });
  stop(poller);
  engine.lock();
  the_last_one_that_polls_wakes_who_sleeps(poller);
  engine.unlock();
}

// The thread, which slept in charge until its bell rings, leaves the doorbells to the user thread that sleeps by then.
TEST_F(PollerSwitch, WhoSleepsWhenTheThreadNoticesIsStillWoken) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  start(poller);
  eventually([&] { return engine.source.armed.load(); });
  engine.lock();
  const auto rings_later = poller.set_interrupt_mode(false);
  engine.unlock();
  std::thread waiting = sleeper(poller, [&] { return engine.handled == 1; });
  eventually([&] { return poller.anybody_dozes(); });
  engine.lock();  // it sleeps
  engine.unlock();
  rings_later->ring();
  pollfd rings{rings_later->descriptor(), POLLIN, 0};
  eventually([&] { return poll(&rings, 1, 0) == 0; });
  engine.lock();
  EXPECT_TRUE(engine.source.armed);
  engine.unlock();
  engine.source.arrive();
  waiting.join();
  stop(poller);
}

// The mode may be what it was when the thread hears of it.
TEST_F(PollerSwitch, ABellThatRingsInPollingModeIsHeardOnce) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  ASSERT_EQ(poller.start({}), 0);
  eventually([&] { return engine.unlocks_elsewhere == 1; });
  engine.lock();
  const auto bell_of_both = poller.set_interrupt_mode(true);
  EXPECT_EQ(poller.set_interrupt_mode(false), bell_of_both);
  engine.unlock();
  bell_of_both->ring();
  eventually([&] { return engine.unlocks_elsewhere == 2; });
  EXPECT_TRUE(stays(engine.unlocks_elsewhere));
  stop(poller);
}

TEST_F(PollerSwitch, TheThreadIsStillInPollingMode) {
  Poller poller(engine, config(ThreadPolicy::spin), {&engine.source}, false);
  ASSERT_EQ(poller.start({}), 0);
  comes_to_rest(engine.unlocks_elsewhere);
  engine.lock();
  set_mode(poller, true);
  engine.unlock();
  eventually([&] { return engine.steps > 0; });
  engine.lock();
  set_mode(poller, false);
  engine.unlock();
  comes_to_rest(engine.unlocks_elsewhere);
  stop(poller);
}

TEST_F(PollerSwitch, WhoSleptBesideTheThreadLooksAfterItselfWhenPollingModeBegins) {
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

}  // namespace
}  // namespace openlapi
