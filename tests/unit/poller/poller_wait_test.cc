// What a wait does on its way: hands the lock over, tells its condition that it lasts, sleeps as long as it may.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/unit/poller/fake_engine.h"

namespace openlapi {
namespace {

constexpr Nanoseconds kForEver = 2'000 * kSecond;  // beyond the test's time-out
constexpr BackoffLimits kPolls{UINT32_MAX, 0};

class PollerWait : public testing::Test {
 protected:
  // As a user thread would, with the lock.
  void wait(Poller& poller, WaitCondition& condition, const BackoffLimits& limits) {
    const std::lock_guard guard(engine);
    poller.enter();
    poller.wait(condition, limits);
    poller.leave();
  }

  FakeEngine engine;
  Poller poller{engine, {{ThreadPolicy::sleep, 0}, {20, 5}, kForEver}, {&engine.source}, false};
};

TEST_F(PollerWait, GivesTheLockToWhoWantsItAndLooksAtTheClockAfterwards) {
  engine.lock_wanted = true;
  Condition condition([&] { return engine.steps == 5; });
  wait(poller, condition, kPolls);
  EXPECT_EQ(engine.hand_overs, 4) << "behind each step but the last";
  EXPECT_EQ(engine.steps_again, 0u);
}

// Also where it would sleep, but has work.
TEST_F(PollerWait, LeavesTheLockToOthersWhileItGivesItsCoreAway) {
  for (const bool would_sleep : {false, true}) {
    SCOPED_TRACE(would_sleep);
    engine.work = would_sleep;
    engine.steps = 0;
    const int before = engine.unlocks_elsewhere;
    Condition condition([&] { return engine.steps == 6; });
    std::thread waiting([&] { wait(poller, condition, would_sleep ? kSleepAtOnce : BackoffLimits{0, UINT32_MAX}); });
    waiting.join();
    EXPECT_EQ(engine.unlocks_elsewhere - before, 5 + 1) << "behind each step but the last, and when the call is over";
  }
}

TEST_F(PollerWait, SleepsForAsLongAsItMay) {
  Poller brief(engine, {{ThreadPolicy::sleep, 0}, {20, 5}, 20 * kMillisecond}, {&engine.source}, false);
  Condition condition([&] { return condition.long_waits == 2; });
  const Nanoseconds begin = engine.now();
  wait(brief, condition, kSleepAtOnce);
  EXPECT_GE(engine.now() - begin, 20 * kMillisecond);
}

TEST_F(PollerWait, TellsItsConditionNowAndThenThatItLasts) {
  Condition brief([&] {
    engine.source.arrive();
    return engine.steps == 900;
  });
  wait(poller, brief, kPolls);
  EXPECT_EQ(brief.long_waits, 0);
  Condition busy([&] {
    engine.source.arrive();
    return engine.steps == 900 + 5'000;
  });
  wait(poller, busy, kPolls);
  EXPECT_GE(busy.long_waits, 4);
  EXPECT_LE(busy.long_waits, 5);
}

TEST_F(PollerWait, TellsItsConditionBeforeItSleeps) {
  Condition condition([&] { return condition.long_waits == 1; });
  wait(poller, condition, kSleepAtOnce);
  EXPECT_EQ(condition.long_waits, 1);
}

TEST_F(PollerWait, LooksOnceMoreBeforeItSleeps) {
  int looks = 0;
  Condition condition([&] { return ++looks >= 2; });  // it came true right behind the look after the step
  wait(poller, condition, kSleepAtOnce);
  EXPECT_EQ(looks, 3);
}

// Neither does it keep the lock from a thread that could change that.
TEST_F(PollerWait, DoesNotSleepWhileThereIsWork) {
  std::atomic<bool> over = false;
  engine.work = true;
  Condition condition([&] { return over.load(); });
  std::thread waiting([&] { wait(poller, condition, kSleepAtOnce); });
  while (engine.steps < 3) std::this_thread::yield();
  engine.lock();
  EXPECT_FALSE(engine.armed_in_a_step);
  over = true;
  engine.unlock();
  waiting.join();
}

// The dataplane thread ends, and with it whatever the calls wait for.
TEST_F(PollerWait, IsAskedWhenTheThreadIsToStop) {
  bool over = false;
  Condition condition([&] { return over; });
  std::thread waiting([&] { wait(poller, condition, kSleepAtOnce); });
  while (!engine.source.armed || engine.unlocks_elsewhere == 0) std::this_thread::yield();
  engine.lock();
  over = true;
  poller.request_stop();
  engine.unlock();
  waiting.join();
}

// One that acts sleeps in short pieces, and is asked again behind each of them.
TEST_F(PollerWait, GoesOnBehindASleepThatBroughtNothing) {
  Condition condition([&] { return condition.long_waits == 2; }, Asking::acts);
  wait(poller, condition, kSleepAtOnce);
  EXPECT_EQ(condition.long_waits, 2);
}

// In polling mode nobody is in charge between two calls; beside one that polls that one is.
TEST_F(PollerWait, ACallWakesAndSendsNothingWhereNobodySleeps) {
  const std::lock_guard guard(engine);
  engine.work = true;
  poller.after_call();
  poller.enter();
  poller.after_call();
  poller.leave();
  EXPECT_EQ(engine.flushes, 0);
}

TEST_F(PollerWait, ACallThatLeavesNothingWakesNobody) {
  bool over = false;
  Condition condition([&] { return over; });
  std::thread waiting([&] { wait(poller, condition, kSleepAtOnce); });
  while (!engine.source.armed || engine.unlocks_elsewhere == 0) std::this_thread::yield();
  engine.lock();
  const std::uint64_t before = engine.steps;
  poller.after_call();
  engine.unlock();
  let_others_run();
  engine.lock();
  EXPECT_EQ(engine.steps, before);
  over = true;
  poller.wake_ready();
  engine.unlock();
  waiting.join();
}

TEST_F(PollerWait, WhoLeavesBesideOneWhoPollsWakesNobody) {
  bool over = false;
  Condition condition([&] { return over; });
  engine.lock();
  poller.enter();
  poller.enter();
  engine.unlock();
  std::thread waiting([&] { wait(poller, condition, kSleepAtOnce); });
  while (engine.unlocks_elsewhere == 0) std::this_thread::yield();
  engine.lock();
  const std::uint64_t before = engine.steps;
  poller.leave();
  engine.unlock();
  let_others_run();
  engine.lock();
  EXPECT_EQ(engine.steps, before);
  over = true;
  poller.leave();
  engine.unlock();
  waiting.join();
}

// Who is up first does not silence the bell for the others.
TEST_F(PollerWait, OneBellIsForAll) {
  for (int round = 0; round < 20; ++round) {
    bool over = false;
    Condition conditions[3] = {Condition([&] { return over; }), Condition([&] { return over; }),
                               Condition([&] { return over; })};
    const int asleep = engine.unlocks_elsewhere + 3;
    engine.lock();
    poller.enter();
    engine.unlock();
    std::thread waiting[3];
    for (int number = 0; number < 3; ++number) {
      waiting[number] = std::thread([&, number] { wait(poller, conditions[number], kSleepAtOnce); });
    }
    while (engine.unlocks_elsewhere < asleep) std::this_thread::yield();
    engine.lock();
    over = true;
    poller.wake_ready();
    engine.unlock();
    for (std::thread& thread : waiting) thread.join();
    engine.lock();
    poller.leave();
    engine.unlock();
  }
}

// What the thread has done between two sleeps, each of which a message ends that has come soon. The clock's steps are
// longer than what a thread that is woken at once spins for, and shorter than what one does that is not.
class PollerBlind : public testing::Test {
 protected:
  static constexpr std::size_t kSleeps = 10;
  std::uint64_t steps_between_sleeps(const std::vector<WakeSource*>& sources, bool blind) {
    std::vector<std::uint64_t> at;
    engine.tick = 40 * kMicrosecond;
    engine.before_sleep = [&] {
      if (at.size() == kSleeps) return;
      at.push_back(engine.steps);
      engine.source.arrive();
    };
    Poller poller(engine, {{ThreadPolicy::adaptive, 20 * kMicrosecond}, {20, 5}, kForEver}, sources, blind);
    engine.lock();
    const auto bell = poller.set_interrupt_mode(true);
    EXPECT_EQ(poller.start({}), 0);
    engine.unlock();
    while (engine.handled != static_cast<int>(kSleeps)) std::this_thread::yield();
    engine.lock();
    poller.request_stop();
    engine.unlock();
    poller.join(10 * kSecond);
    return (at.back() - at.front()) / (kSleeps - 1);
  }

  FakeEngine engine;
};

TEST_F(PollerBlind, ThreadThatIsWokenAtOnceSleepsAtOnce) {
  EXPECT_EQ(steps_between_sleeps({&engine.source}, false), 2u);
}

TEST_F(PollerBlind, ThreadThatNothingWakesSpinsBetweenLongerGaps) { EXPECT_GT(steps_between_sleeps({}, true), 5u); }

TEST_F(PollerBlind, ThreadThatIsWokenLateSpinsBetweenLongerGaps) {
  engine.source.rings_at_once = false;
  EXPECT_GT(steps_between_sleeps({&engine.source}, false), 5u);
}

// The next descriptors that the process gets, from the lowest one on.
std::array<int, 4> next_descriptors() {
  std::array<int, 4> next{};
  for (int& descriptor : next) descriptor = dup(0);
  for (const int descriptor : next) close(descriptor);
  return next;
}

TEST(PollerDescriptors, AllAreNeeded) {
  FakeEngine engine;
  const std::array<int, 4> next = next_descriptors();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  for (std::size_t left = 0; left < next.size(); ++left) {
    rlimit few = before;
    few.rlim_cur = static_cast<rlim_t>(next[left]);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    const Poller poller(engine, {}, {&engine.source}, false);
    EXPECT_EQ(poller.valid(), left == 3) << left << " descriptors left";
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  }
}

}  // namespace
}  // namespace openlapi
