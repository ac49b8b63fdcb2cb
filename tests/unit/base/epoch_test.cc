#include "dataplane/base/epoch.h"

#include <gtest/gtest.h>

namespace openlapi {
namespace {

constexpr Epoch kAll = Epoch{1} << 48;

TEST(Epoch, OneIsEarlierWithinHalfOfAll) {
  // The functions of the library, not what the compiler makes of constants.
  for (const Epoch life : {Epoch{64}, kAll / 2, kAll - 64}) {
    for (const Epoch steps : {Epoch{1}, kAll / 4, kAll / 2 - 1}) {
      const Epoch later = (life + steps) % kAll;
      EXPECT_TRUE(is_earlier_life(life, later)) << life << " " << steps;
      EXPECT_FALSE(is_earlier_life(later, life)) << life << " " << steps;
    }
    EXPECT_FALSE(is_earlier_life(life, life));
  }
}

TEST(Epoch, BeginningsBelongToALife) {
  const Epoch life = 5 << kBeginningBits;
  EXPECT_TRUE(is_same_life(life, life + 63));
  EXPECT_FALSE(is_same_life(life, life + 64));
  EXPECT_FALSE(is_last_beginning(life + 62));
  EXPECT_TRUE(is_last_beginning(life + 63));
}

TEST(Epoch, TheLifeAfterTheLastIsNotZero) {
  const Epoch life = 5 << kBeginningBits;
  for (const Epoch beginning : {life, life + 1, life + 63})
    EXPECT_EQ(life_after(beginning), Epoch{6} << kBeginningBits);
  EXPECT_EQ(life_after(kAll - 128), kAll - 64);
  for (const Epoch last : {kAll - 64, kAll - 1}) EXPECT_EQ(life_after(last), Epoch{64});
}

}  // namespace
}  // namespace openlapi
