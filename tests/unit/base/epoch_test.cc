#include "dataplane/base/epoch.h"

#include <gtest/gtest.h>

namespace openlapi {
namespace {

constexpr Epoch kAll = Epoch{1} << 48;

TEST(Epoch, OneIsEarlierWithinHalfOfAll) {
  // The functions of the library, not what the compiler makes of constants.
  for (const Epoch incarnation : {Epoch{64}, kAll / 2, kAll - 64}) {
    for (const Epoch steps : {Epoch{1}, kAll / 4, kAll / 2 - 1}) {
      const Epoch later = (incarnation + steps) % kAll;
      EXPECT_TRUE(is_earlier_incarnation(incarnation, later)) << incarnation << " " << steps;
      EXPECT_FALSE(is_earlier_incarnation(later, incarnation)) << incarnation << " " << steps;
    }
    EXPECT_FALSE(is_earlier_incarnation(incarnation, incarnation));
  }
}

TEST(Epoch, BeginningsBelongToALife) {
  const Epoch incarnation = 5 << kBeginningBits;
  EXPECT_TRUE(is_same_incarnation(incarnation, incarnation + 63));
  EXPECT_FALSE(is_same_incarnation(incarnation, incarnation + 64));
  EXPECT_FALSE(is_last_beginning(incarnation + 62));
  EXPECT_TRUE(is_last_beginning(incarnation + 63));
}

TEST(Epoch, TheLifeAfterTheLastIsNotZero) {
  const Epoch incarnation = 5 << kBeginningBits;
  for (const Epoch beginning : {incarnation, incarnation + 1, incarnation + 63})
    EXPECT_EQ(incarnation_after(beginning), Epoch{6} << kBeginningBits);
  EXPECT_EQ(incarnation_after(kAll - 128), kAll - 64);
  for (const Epoch last : {kAll - 64, kAll - 1}) EXPECT_EQ(incarnation_after(last), Epoch{64});
}

}  // namespace
}  // namespace openlapi
