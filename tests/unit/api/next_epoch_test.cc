#include "api/wiring/next_epoch.h"

#include <gtest/gtest.h>

#include <set>

#include "dataplane/base/epoch.h"

namespace openlapi {
namespace {

TEST(ContextEpoch, EachLifeIsLaterThanAllBeforeAndHasNotBegunAnewYet) {
  Epoch last = next_epoch();
  for (int life = 0; life < 1000; ++life) {
    const Epoch epoch = next_epoch();
    EXPECT_TRUE(is_earlier_life(last, epoch));
    EXPECT_EQ(epoch % (1u << kBeginningBits), 0u);
    last = epoch;
  }
}

// Who has seen when a life began cannot name it.
TEST(ContextEpoch, TheTimeOfALifeDoesNotTellItsNumber) {
  constexpr unsigned kRandomBits = 12, kLives = 400;
  std::set<Epoch> random;
  for (unsigned life = 0; life < kLives; ++life) {
    random.insert(next_epoch() >> kBeginningBits & ((1u << kRandomBits) - 1));
  }
  EXPECT_GT(random.size(), kLives / 2) << "of 4096 numbers, 400 draws hit some 380 different ones";
}

}  // namespace
}  // namespace openlapi
