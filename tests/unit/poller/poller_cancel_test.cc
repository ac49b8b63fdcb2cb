// Threads that are cancelled in the poller's waits. What a condition does, whichever thread asks it, the wait says.
#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>
#include <thread>

#include "tests/unit/poller/fake_engine.h"

namespace openlapi {
namespace {

class PollerCancel : public testing::Test {
 protected:
  // A thread that waits and has fallen asleep; the caller has the lock when this returns.
  pthread_t sleeping_thread(WaitCondition& condition) {
    const pthread_t thread = waiting_thread(condition, kSleepAtOnce);
    while (!poller_.anybody_dozes()) std::this_thread::yield();
    engine_.lock();
    return thread;
  }
  pthread_t waiting_thread(WaitCondition& condition, const BackoffLimits& limits) {
    condition_ = &condition;
    limits_ = limits;
    pthread_t thread{};
    EXPECT_EQ(pthread_create(&thread, nullptr, wait, this), 0);
    return thread;
  }
  // ... and then does that.
  pthread_t thread_that_cancels_itself(void (Poller::*turn)()) {
    turn_ = turn;
    pthread_t thread{};
    EXPECT_EQ(pthread_create(&thread, nullptr, cancel_oneself, this), 0);
    return thread;
  }
  bool was_cancelled(pthread_t thread) {
    engine_.unlock();
    return ends_cancelled(thread);
  }
  bool ends_cancelled(pthread_t thread) {
    void* result = nullptr;
    EXPECT_EQ(pthread_join(thread, &result), 0);
    return result == PTHREAD_CANCELED;
  }

  FakeEngine engine_;
  Poller poller_{engine_, {kBriefly, kSleepAtOnce, 2'000 * kSecond}, {&engine_.source}, false};

 private:
  // Locked as the context locks its own: what unwinds the stack unlocks.
  struct Locked {
    explicit Locked(FakeEngine& of) : engine(of) { engine.lock(); }
    ~Locked() { engine.unlock(); }
    FakeEngine& engine;
  };
  static void* wait(void* of) {
    auto& test = *static_cast<PollerCancel*>(of);
    const Locked locked(test.engine_);
    test.poller_.enter();
    test.poller_.wait(*test.condition_, test.limits_);
    test.poller_.leave();
    return nullptr;
  }

  static void* cancel_oneself(void* of) {
    auto& test = *static_cast<PollerCancel*>(of);
    const Locked locked(test.engine_);
    pthread_cancel(pthread_self());
    (test.poller_.*test.turn_)();
    return nullptr;
  }

  WaitCondition* condition_ = nullptr;
  BackoffLimits limits_{};
  void (Poller::*turn_)() = nullptr;
};

TEST_F(PollerCancel, ThreadThatSleepsEnds) {
  for (const Asking asking : {Asking::looks, Asking::acts}) {
    Condition never([] { return false; }, asking);
    const pthread_t thread = sleeping_thread(never);
    EXPECT_EQ(pthread_cancel(thread), 0);
    EXPECT_TRUE(was_cancelled(thread));
  }
}

TEST_F(PollerCancel, ThreadThatNeverSleepsEnds) {
  for (const bool finds_something : {false, true}) {
    SCOPED_TRACE(finds_something);
    const std::uint64_t before = engine_.steps;
    Condition never([&] {
      if (finds_something) engine_.source.arrive();
      return false;
    });
    const pthread_t thread = waiting_thread(never, {0, UINT32_MAX});
    while (engine_.steps < before + 3) std::this_thread::yield();  // the first has found nothing yet
    EXPECT_EQ(pthread_cancel(thread), 0);
    EXPECT_TRUE(ends_cancelled(thread));
  }
}

// Whoever sleeps beside it, and came earlier or later, is asked as before.
TEST_F(PollerCancel, OthersSleepOn) {
  for (const bool the_first : {false, true}) {
    SCOPED_TRACE(the_first);
    bool over = false;
    Condition never([] { return false; }), once([&] { return over; });
    pthread_t threads[2];
    for (int number = 0; number < 2; ++number) {
      const int before = engine_.unlocks_elsewhere;
      threads[number] = waiting_thread((number == 0) == the_first ? never : once, kSleepAtOnce);
      while (engine_.unlocks_elsewhere == before) std::this_thread::yield();  // it sleeps
    }
    const int cancelled = the_first ? 0 : 1;
    EXPECT_EQ(pthread_cancel(threads[cancelled]), 0);
    EXPECT_TRUE(ends_cancelled(threads[cancelled]));
    engine_.lock();
    over = true;
    poller_.wake_ready();
    engine_.unlock();
    EXPECT_FALSE(ends_cancelled(threads[1 - cancelled]));
  }
}

// One that polls by itself, not in wait(). The lock is as it was when the stack has been unwound.
TEST_F(PollerCancel, WhoGivesItsCoreAwayEndsThere) {
  for (void (Poller::*const turn)() : {&Poller::give_core_away, &Poller::rest}) {
    EXPECT_TRUE(ends_cancelled(thread_that_cancels_itself(turn)));
    engine_.lock();
    engine_.unlock();
  }
}

TEST_F(PollerCancel, WhatAnotherThreadHasDoneForASleeperIsNotCancelled) {
  bool room = false;
  int done = 0;
  Condition condition(
      [&] {
        if (done == 0 && room) ++done;
        return done != 0;
      },
      Asking::acts);
  const pthread_t thread = sleeping_thread(condition);
  EXPECT_EQ(pthread_cancel(thread), 0);
  room = true;
  poller_.wake_ready();
  EXPECT_EQ(done, 1);
  EXPECT_FALSE(was_cancelled(thread));
}

}  // namespace
}  // namespace openlapi
