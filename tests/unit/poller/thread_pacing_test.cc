// What the dataplane thread does when nothing arrives, by a clock that is turned by hand.
#include "dataplane/poller/thread_pacing.h"

#include <gtest/gtest.h>

#include <csignal>

#include "dataplane/poller/backoff.h"
#include "dataplane/poller/library_thread.h"
#include "tests/support/manual_clock.h"

namespace openlapi {
namespace {

constexpr Nanoseconds kSpin = 20 * kMicrosecond;
constexpr Nanoseconds kWakeUp = 25 * kMicrosecond;
constexpr Nanoseconds kPoll = 100;
constexpr Nanoseconds kLookApart = ThreadPacing::kPollsPerLook * kPoll;
constexpr PacingLimits kAdaptive{ThreadPolicy::adaptive, kSpin, true, kWakeUp};

class Pacing {
 public:
  explicit Pacing(const PacingLimits& limits) : pacing(limits) {}

  // The step after a fruitless poll.
  BackoffStep step() {
    clock.advance(kPoll);
    return pacing.next([this] { return look(); });
  }
  void worked() {
    pacing.worked([this] { return look(); });
  }
  // Fruitless time until it sleeps.
  Nanoseconds until_sleep() {
    const Nanoseconds begin = clock.now();
    while (step() != BackoffStep::sleep) {
    }
    return clock.now() - begin;
  }
  // It falls asleep, and is woken by a message that it takes `gap` after the last one.
  void message_after(Nanoseconds gap) {
    const Nanoseconds begin = clock.now();
    until_sleep();
    clock.set(begin + gap);
    pacing.slept();
    worked();
  }

  ManualClock clock;
  ThreadPacing pacing;
  int looks = 0;

 private:
  Nanoseconds look() {
    ++looks;
    return clock.now();
  }
};

class Adaptive : public testing::Test, public Pacing {
 protected:
  Adaptive() : Pacing(kAdaptive) {}
};

TEST_F(Adaptive, SleepsAtOnceBehindAMessageThatCameAlone) {
  EXPECT_EQ(step(), BackoffStep::sleep) << "the first of all";
  message_after(10 * kMillisecond);
  EXPECT_EQ(step(), BackoffStep::sleep);
}

TEST_F(Adaptive, SpinsForItsTimeBehindAMessageThatCameSoon) {
  message_after(kSpin + kWakeUp - kMicrosecond);
  const Nanoseconds spun = until_sleep();
  EXPECT_GE(spun, kSpin);
  EXPECT_LE(spun, kSpin + 2 * kLookApart);
}

TEST_F(Adaptive, TakesWhatASpinWouldHaveMissedForOneThatCameAlone) {
  message_after(kSpin + kWakeUp + kMicrosecond);
  EXPECT_EQ(step(), BackoffStep::sleep);
}

TEST_F(Adaptive, SpinsInVainOnceWhenAStreamEnds) {
  message_after(kMicrosecond);
  EXPECT_GE(until_sleep(), kSpin);
  message_after(kMillisecond);
  EXPECT_EQ(step(), BackoffStep::sleep);
}

TEST_F(Adaptive, GoesOnSpinningWhileSpinningCatchesTheMessages) {
  message_after(kMicrosecond);
  for (int round = 0; round < 10; ++round) {
    const Nanoseconds half = clock.now() + kSpin / 2;
    while (clock.now() < half) EXPECT_EQ(step(), BackoffStep::pause);
    worked();
  }
  EXPECT_GE(until_sleep(), kSpin);
}

TEST_F(Adaptive, ReadsTheClockSeldom) {
  message_after(kMicrosecond);
  looks = 0;
  until_sleep();
  EXPECT_LE(looks, static_cast<int>(kSpin / kLookApart) + 2);
}

TEST_F(Adaptive, WakingUpForNothingIsNoReasonToSpin) {
  message_after(kMicrosecond);
  until_sleep();
  pacing.slept();
  EXPECT_EQ(step(), BackoffStep::sleep);
}

TEST_F(Adaptive, WhoIsKeptAwakeSpinsBeforeItTriesAgain) {
  until_sleep();
  clock.advance(10 * kSpin);
  pacing.kept_awake();
  EXPECT_GE(until_sleep(), kSpin);
}

// Something waits already behind the sleep that is over: the next one would be refused as well.
TEST_F(Adaptive, WhoIsKeptAwakeBehindASleepSpinsToo) {
  until_sleep();
  pacing.slept();
  EXPECT_EQ(step(), BackoffStep::sleep);
  pacing.kept_awake();
  EXPECT_GE(until_sleep(), kSpin);
}

TEST(ThreadPacingTest, SleepSleepsAtOnce) {
  Pacing sleep({ThreadPolicy::sleep, kSpin});
  EXPECT_EQ(sleep.step(), BackoffStep::sleep);
  sleep.message_after(kMicrosecond);
  EXPECT_EQ(sleep.step(), BackoffStep::sleep);
  EXPECT_EQ(sleep.looks, 0);
}

TEST(ThreadPacingTest, SpinNeverSleeps) {
  Pacing alone({ThreadPolicy::spin, kSpin, false});
  for (int poll = 0; poll < 100'000; ++poll) ASSERT_EQ(alone.step(), BackoffStep::pause);
  EXPECT_EQ(alone.looks, 0);
}

TEST(ThreadPacingTest, SpinGivesASharedCoreAway) {
  Pacing shared({ThreadPolicy::spin, kSpin, true});
  int yields = 0;
  for (int poll = 0; poll < 8'000; ++poll) {
    const BackoffStep step = shared.step();
    ASSERT_NE(step, BackoffStep::sleep);
    yields += step == BackoffStep::yield ? 1 : 0;
  }
  EXPECT_EQ(yields, 8'000 / static_cast<int>(ThreadPacing::kPollsPerLook));
  shared.worked();
  for (std::uint32_t poll = 1; poll < ThreadPacing::kPollsPerLook; ++poll) EXPECT_EQ(shared.step(), BackoffStep::pause);
  EXPECT_EQ(shared.step(), BackoffStep::yield);
}

TEST_F(Adaptive, TimedSleepsGrowUntilSomethingArrives) {
  until_sleep();
  Nanoseconds before = pacing.take_blind_sleep();
  EXPECT_EQ(before, kFirstBlindSleep);
  for (int sleeps = 0; sleeps < 20; ++sleeps) {
    pacing.slept();
    EXPECT_EQ(step(), BackoffStep::sleep);
    const Nanoseconds next = pacing.take_blind_sleep();
    EXPECT_EQ(next, std::min(2 * before, kLongestBlindSleep));
    before = next;
  }
  EXPECT_EQ(before, kLongestBlindSleep);
  worked();
  EXPECT_EQ(pacing.take_blind_sleep(), kFirstBlindSleep);
}

TEST(LibraryThreadTest, BlocksSignalsButItsOwnFaultsAndLeavesTheCallersMaskAlone) {
  sigset_t before, after, open;
  sigemptyset(&open);
  sigaddset(&open, SIGTERM);
  pthread_sigmask(SIG_UNBLOCK, &open, &before);
  static sigset_t inside;
  LibraryThread thread;
  ASSERT_EQ(thread.start(
                {}, [](void*) { pthread_sigmask(SIG_SETMASK, nullptr, &inside); }, nullptr),
            0);
  thread.join(10 * kSecond);
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&inside, SIGTERM), 1);
  EXPECT_EQ(sigismember(&inside, SIGSEGV), 0);
  EXPECT_EQ(sigismember(&inside, SIGBUS), 0);
  EXPECT_EQ(sigismember(&after, SIGTERM), 0);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(BackoffTest, PausesThenYieldsThenSleeps) {
  Backoff backoff({2, 1});
  EXPECT_EQ(backoff.next(), BackoffStep::pause);
  EXPECT_EQ(backoff.next(), BackoffStep::pause);
  EXPECT_EQ(backoff.next(), BackoffStep::yield);
  EXPECT_EQ(backoff.next(), BackoffStep::sleep);
  EXPECT_EQ(backoff.next(), BackoffStep::sleep);
  backoff.reset();
  EXPECT_EQ(backoff.next(), BackoffStep::pause);
  EXPECT_EQ(backoff.next(), BackoffStep::pause);
  EXPECT_EQ(backoff.next(), BackoffStep::yield);
}

TEST(BackoffTest, APauseIsShortWhateverTheWordBecomes) {
  std::atomic<std::uint64_t> word{5};
  pause_before_poll({&word, 5});
  pause_before_poll({&word, 4});
  pause_before_poll({});
  EXPECT_EQ(word, 5u) << "it only looks";
}

TEST(BackoffTest, CoreIsOwnedWhenThereAreEnough) {
  EXPECT_TRUE(owns_core(2, 2, 2));
  EXPECT_TRUE(owns_core(4, 4, 2));
  EXPECT_TRUE(owns_core(1, 2, 2));   // pinned
  EXPECT_FALSE(owns_core(1, 2, 4));  // pinned, two to a core
  EXPECT_FALSE(owns_core(2, 2, 4));
}

}  // namespace
}  // namespace openlapi
