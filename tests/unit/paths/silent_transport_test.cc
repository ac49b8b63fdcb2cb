// A transport that brings nothing beside one that does is not looked at in every step.
#include <gtest/gtest.h>

#include "tests/unit/paths/several_paths_fixture.h"

namespace openlapi {
namespace {

class SilentTransportTest : public SeveralPathsTest {
 protected:
  void SetUp() override {
    for (std::uint32_t step = 0; step != tuning::kStepsUntilSilent; ++step) {
      send(static_cast<unsigned char>(step));
      exchange();
    }
    expect_all_delivered();
    ASSERT_EQ(arrived_over_second(), 0u);
  }
  // The first packet over the second path.
  void put_on_the_silent_way() {
    silence(a_.transport);
    send(1);
    clock_.advance(tuning::kShortestRetransmitTimeout);
    a_.set.run_timers(clock_.now());
    ASSERT_NE(b_.other_transport.waiting(), 0u);
  }
};

TEST_F(SilentTransportTest, IsHeardSoonByWhoLooksAgainAndAgain) {
  put_on_the_silent_way();
  for (std::uint32_t step = 1; step != tuning::kStepsBetweenLooks; ++step) {
    EXPECT_EQ(b_.set.receive(Step::again), 0u) << step;
  }
  EXPECT_NE(b_.set.receive(Step::again), 0u);
  expect_all_delivered();
}

TEST_F(SilentTransportTest, IsHeardAtOnceByWhoLooksNowAndThen) {
  put_on_the_silent_way();
  EXPECT_NE(b_.set.receive(Step::first), 0u);
}

TEST_F(SilentTransportTest, IsHeardAtOnceWhereTheOtherIsSilentToo) {
  for (std::uint32_t step = 0; step != tuning::kStepsUntilSilent; ++step) b_.set.receive(Step::again);
  put_on_the_silent_way();
  EXPECT_NE(b_.set.receive(Step::again), 0u);
}

TEST_F(SilentTransportTest, IsHeardAtOnceAfterItHasBroughtSomething) {
  put_on_the_silent_way();
  ASSERT_NE(b_.set.receive(Step::first), 0u);
  silence(a_.transport, false);
  silence(b_.transport, false);
  send(2);
  a_.transmit();
  ASSERT_NE(b_.transport.waiting() + b_.other_transport.waiting(), 0u);
  EXPECT_NE(b_.set.receive(Step::again), 0u);
}

}  // namespace
}  // namespace openlapi
