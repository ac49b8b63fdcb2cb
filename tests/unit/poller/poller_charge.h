// Several threads of which some sleep, for tests of who is in charge: nothing but what the test does wakes anybody, so
// that a wake-up that is missing lasts for ever.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "tests/unit/poller/fake_engine.h"

namespace openlapi {

inline constexpr Nanoseconds kForEver = 2'000 * kSecond;  // beyond the test's time-out

class PollerCharge : public testing::Test {
 protected:
  static constexpr PollerConfig config(ThreadPolicy policy) { return {{policy, 20 * kMicrosecond}, {20, 5}, kForEver}; }
  void start(Poller& poller) {
    const std::lock_guard guard(engine);
    bell = poller.set_interrupt_mode(true);
    bell->ring();
    ASSERT_EQ(poller.start({}), 0);
  }
  // A user thread polls, and the dataplane thread, which slept in charge, naps: for a short time, because somebody has
  // just come, then for long.
  void enter_beside_the_thread(Poller& poller) {
    eventually([&] { return engine.source.armed.load(); });
    engine.lock();
    const int unlocks = engine.unlocks_elsewhere;
    poller.enter();
    bell->ring();
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
  // Until it stays as it is for a while: a thread that is woken again and again never comes to rest.
  template <class Number>
  static void comes_to_rest(const std::atomic<Number>& number) {
    Number before = number;
    for (int same = 0; same < 20; ++same) {
      let_others_run();
      const Number now = number;
      if (now != before) same = 0;
      before = now;
    }
  }
  // Nobody wakes the one that changes it, who could have woken many times meanwhile.
  static bool stays(const std::atomic<int>& number) {
    const int before = number;
    for (int look = 0; look < 20; ++look) let_others_run();
    return number == before;
  }

  FakeEngine engine;

  std::shared_ptr<Bell> bell;
};

}  // namespace openlapi
