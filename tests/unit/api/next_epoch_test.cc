#include "api/wiring/next_epoch.h"

#include <gtest/gtest.h>

#include <set>

#include "dataplane/base/epoch.h"

namespace openlapi {
namespace {

TEST(ContextEpoch, EachLifeIsLaterThanAllBeforeAndHasNotBegunAnewYet) {
  Epoch last = next_epoch();
  for (int incarnation = 0; incarnation < 1000; ++incarnation) {
    const Epoch epoch = next_epoch();
    EXPECT_TRUE(is_earlier_incarnation(last, epoch));
    EXPECT_EQ(epoch % (1u << kBeginningBits), 0u);
    last = epoch;
  }
}

// Who has seen when an incarnation began cannot name it.
TEST(ContextEpoch, TheTimeOfAnIncarnationDoesNotTellItsNumber) {
  constexpr unsigned kRandomBits = 12, kIncarnations = 400;
  std::set<Epoch> random;
  for (unsigned incarnation = 0; incarnation < kIncarnations; ++incarnation) {
    random.insert(next_epoch() >> kBeginningBits & ((1u << kRandomBits) - 1));
  }
  EXPECT_GT(random.size(), kIncarnations / 2) << "of 4096 numbers, 400 draws hit some 380 different ones";
}

}  // namespace
}  // namespace openlapi
