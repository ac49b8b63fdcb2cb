// What the dataplane thread does in polling mode: it looks after an engine in which nobody makes steps.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/unit/poller/poller_charge.h"

namespace openlapi {
namespace {

class FakeUpkept final : public UpkeptEngine {
 public:
  explicit FakeUpkept(FakeEngine& engine) : engine_(engine) {}
  bool try_borrow() override {
    ++tries;
    if (!lets_in) return false;
    engine_.lock();
    return true;
  }
  std::uint32_t steps() const override {
    ++looks;
    EXPECT_FALSE(engine_.is_locked());
    if (somebody_makes_steps) ++steps_;
    return steps_;
  }
  bool keep_up() override {
    EXPECT_TRUE(engine_.is_locked());
    ++upkeeps;
    return true;
  }

  mutable std::atomic<int> looks{0};
  std::atomic<int> tries{0}, upkeeps{0};
  std::atomic<bool> lets_in{true}, somebody_makes_steps{false};

 private:
  FakeEngine& engine_;
  mutable std::uint32_t steps_ = 0;
};

class PollerUpkeep : public PollerCharge {
 protected:
  static constexpr int kLooks = 4;

  void start_in_polling_mode(Poller& poller) {
    poller.look_after(upkept);
    ASSERT_EQ(poller.start({}), 0);
  }
  void looks_often() {
    const int before = upkept.looks;
    eventually([&] { return upkept.looks >= before + kLooks; });
  }

  FakeUpkept upkept{engine};
};

TEST_F(PollerUpkeep, IsDoneWhileNobodyMakesSteps) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  start_in_polling_mode(poller);
  eventually([&] { return upkept.upkeeps >= kLooks; });
  EXPECT_EQ(engine.steps, 0u);
  EXPECT_EQ(engine.source.arms, 0) << "nobody is woken by what arrives";
  stop(poller);
}

TEST_F(PollerUpkeep, IsLeftToThoseWhoMakeSteps) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  upkept.somebody_makes_steps = true;
  start_in_polling_mode(poller);
  looks_often();
  EXPECT_EQ(upkept.tries, 0) << "the lock is left alone";
  stop(poller);
}

TEST_F(PollerUpkeep, IsLeftToThoseWhoSleepInACall) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  std::atomic<bool> over = false;
  std::thread waiting = sleeper(poller, [&] { return over.load(); });
  eventually([&] { return poller.anybody_dozes(); });
  engine.lock();  // it sleeps
  engine.unlock();
  start_in_polling_mode(poller);
  looks_often();
  EXPECT_EQ(upkept.tries, 0);
  over = true;
  engine.source.arrive();
  waiting.join();
  eventually([&] { return upkept.upkeeps > 0; });
  stop(poller);
}

TEST_F(PollerUpkeep, IsLeftToThoseWhoAreInsideWithoutTheLock) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  engine.lock();
  poller.enter();
  engine.unlock();
  start_in_polling_mode(poller);
  eventually([&] { return upkept.tries >= kLooks; });
  EXPECT_EQ(upkept.upkeeps, 0);
  engine.lock();
  poller.leave();
  engine.unlock();
  eventually([&] { return upkept.upkeeps > 0; });
  stop(poller);
}

TEST_F(PollerUpkeep, DoesNotWaitForTheLock) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  upkept.lets_in = false;
  start_in_polling_mode(poller);
  eventually([&] { return upkept.tries >= kLooks; });
  EXPECT_EQ(upkept.upkeeps, 0);
  upkept.lets_in = true;
  eventually([&] { return upkept.upkeeps > 0; });
  stop(poller);
}

TEST_F(PollerUpkeep, EndsWithPollingMode) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  start_in_polling_mode(poller);
  eventually([&] { return upkept.upkeeps > 0; });
  engine.lock();
  set_mode(poller, true);
  engine.unlock();
  eventually([&] { return engine.source.armed.load(); });
  const int upkeeps = upkept.upkeeps;
  engine.lock();
  set_mode(poller, false);
  engine.unlock();
  eventually([&] { return upkept.upkeeps > upkeeps; });
  stop(poller);
}

// A context in which nothing can be lost has a thread that sleeps.
TEST_F(PollerUpkeep, IsNotDoneUnlessItIsAskedFor) {
  Poller poller(engine, config(ThreadPolicy::sleep), {&engine.source}, false);
  ASSERT_EQ(poller.start({}), 0);
  eventually([&] { return engine.unlocks_elsewhere == 1; });
  EXPECT_TRUE(stays(engine.unlocks_elsewhere));
  stop(poller);
}

TEST(UpkeepPacing, PausesGrowWhileAllIsQuiet) {
  UpkeepPacing pacing;
  EXPECT_EQ(pacing.usual_pause(), tuning::kUpkeepPause);
  Nanoseconds pause = tuning::kUpkeepPause;
  while (2 * pause < tuning::kLongestUpkeepPause) EXPECT_EQ(pacing.pause_when_all_is_quiet(), pause *= 2);
  EXPECT_EQ(pacing.pause_when_all_is_quiet(), tuning::kLongestUpkeepPause);
  EXPECT_EQ(pacing.pause_when_all_is_quiet(), tuning::kLongestUpkeepPause);
  EXPECT_EQ(pacing.usual_pause(), tuning::kUpkeepPause);
  EXPECT_EQ(pacing.pause_when_all_is_quiet(), 2 * tuning::kUpkeepPause);
}

TEST(UpkeepPacing, WhoMakesStepsIsNotNeglected) {
  UpkeepPacing pacing;
  EXPECT_TRUE(pacing.is_neglected(0));
  EXPECT_FALSE(pacing.is_neglected(3));
  EXPECT_TRUE(pacing.is_neglected(3));
  EXPECT_FALSE(pacing.is_neglected(1)) << "they are counted in 32 bits";
}

}  // namespace
}  // namespace openlapi
