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
    condition_ = &condition;
    pthread_t thread{};
    EXPECT_EQ(pthread_create(&thread, nullptr, wait, this), 0);
    while (!poller_.anybody_dozes()) std::this_thread::yield();
    engine_.lock();
    return thread;
  }
  bool was_cancelled(pthread_t thread) {
    engine_.unlock();
    void* result = nullptr;
    EXPECT_EQ(pthread_join(thread, &result), 0);
    return result == PTHREAD_CANCELED;
  }

  FakeEngine engine_;
  Poller poller_{engine_, {kBriefly, kSleepAtOnce, 400 * kMillisecond}, {&engine_.source}, false};

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
    test.poller_.wait(*test.condition_);
    test.poller_.leave();
    return nullptr;
  }

  WaitCondition* condition_ = nullptr;
};

TEST_F(PollerCancel, ThreadThatSleepsEnds) {
  for (const Asking asking : {Asking::looks, Asking::acts}) {
    Condition never([] { return false; }, asking);
    const pthread_t thread = sleeping_thread(never);
    EXPECT_EQ(pthread_cancel(thread), 0);
    EXPECT_TRUE(was_cancelled(thread));
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
