// A second path that carries nothing: it is not looked at in every step, and heard again at once when it does.
#include <gtest/gtest.h>

#include "dataplane/tuning.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

class SilentPath : public testing::Test {
 protected:
  SilentPath() {
    job_.add_paths();
    for (PeerIndex task = 0; task != 2; ++task) {
      job_.task(task).transport.make_lossy(0, 1);
      second(task).make_lossy(0, 1);
    }
    job_.start();
    put();  // first contact
    job_.settle();
    job_.clock.advance(2 * tuning::kSilentTransport);
    put();
    job_.settle();
    EXPECT_EQ(target_, 2);
    EXPECT_EQ(second(1).waiting(), 0u);
  }
  MemoryTransport& second(PeerIndex task) { return *job_.task(task).others.front(); }
  void put() {
    ASSERT_EQ(job_[0].put({1, address(&word_), &data_, 8, address(&target_), 0, 0}), Submit::accepted);
    job_[0].progress();
  }
  void put_over_the_second() {
    job_.task(0).transport.say_of_link(false);
    job_.clock.advance(2 * tuning::kLinkLookPause);
    job_[0].progress();
    put();
    ASSERT_NE(second(1).waiting(), 0u);
  }
  std::size_t looks_of(unsigned steps, Step step) {
    const std::size_t before = second(1).receive_calls();
    for (unsigned i = 0; i != steps; ++i) job_[1].progress(step);
    return second(1).receive_calls() - before;
  }

  Job job_{2};
  std::uint64_t data_ = 1, word_ = 0;
  int target_ = 0;
};

TEST_F(SilentPath, IsLookedAtAsSeldomAsTheClock) {
  EXPECT_EQ(looks_of(10 * tuning::kStepsBetweenTimers, Step::again), 10u);
  EXPECT_EQ(looks_of(10, Step::first), 10u) << "who looks now and then sees all";
}

TEST_F(SilentPath, IsHeardInAStepOfItsOwn) {
  put_over_the_second();
  job_[1].progress(Step::first);
  EXPECT_EQ(target_, 3);
  EXPECT_EQ(looks_of(10, Step::again), 10u) << "it is not silent any more";
}

TEST_F(SilentPath, IsHeardAmongStepsThatFollowEachOther) {
  put_over_the_second();
  looks_of(tuning::kStepsBetweenTimers, Step::again);
  EXPECT_EQ(target_, 3);
}

TEST_F(SilentPath, IsNotHeardWhileArrivalsAreHeld) {
  put_over_the_second();
  job_[1].hold_arrivals(true);
  EXPECT_EQ(looks_of(10, Step::first), 0u);
  job_[1].hold_arrivals(false);
  job_[1].progress(Step::first);
  EXPECT_EQ(target_, 3);
}

}  // namespace
}  // namespace openlapi
