#include "api/rpi/lapi/shortage.h"

#include <gtest/gtest.h>

namespace openlapi::rpi {
namespace {

TEST(ShortageTest, TenSecondsInCallsAreTooLong) {
  Shortage shortage;
  shortage.note(true, 100, 50 * kSecond);
  for (Nanoseconds now = 50; now < 60; ++now) EXPECT_FALSE(shortage.lasts_too_long((now - 1) * kSecond, now * kSecond));
  EXPECT_TRUE(shortage.lasts_too_long(59 * kSecond, 60 * kSecond));
}

TEST(ShortageTest, TimeInWhichTheProgramComputesDoesNotCount) {
  Shortage shortage;
  shortage.note(true, 100, 50 * kSecond);
  EXPECT_FALSE(shortage.lasts_too_long(53 * kSecond, 54 * kSecond));
  EXPECT_FALSE(shortage.lasts_too_long(54 * kSecond, 200 * kSecond));
  EXPECT_FALSE(shortage.lasts_too_long(200 * kSecond, 201 * kSecond)) << "four seconds before, one since";
  EXPECT_FALSE(shortage.lasts_too_long(201 * kSecond, 900 * kSecond));
  EXPECT_TRUE(shortage.lasts_too_long(904 * kSecond, 905 * kSecond));
}

TEST(ShortageTest, NorDoesTheTimeBeforeIt) {
  Shortage shortage;
  shortage.note(true, 100, 50 * kSecond);
  EXPECT_FALSE(shortage.lasts_too_long(10 * kSecond, 50 * kSecond));
  EXPECT_FALSE(shortage.lasts_too_long(58 * kSecond, 59 * kSecond));
  EXPECT_TRUE(shortage.lasts_too_long(59 * kSecond, 60 * kSecond));
}

TEST(ShortageTest, EndsWithTheMessageThatWaitsAndNotWithAShorterOne) {
  Shortage shortage;
  shortage.note(true, 100, 50 * kSecond);
  shortage.note(false, 99, 55 * kSecond);
  EXPECT_TRUE(shortage.lasts_too_long(59 * kSecond, 60 * kSecond));
  EXPECT_TRUE(shortage.has_begun());
  shortage.note(false, 100, 60 * kSecond);
  EXPECT_FALSE(shortage.has_begun());
  EXPECT_FALSE(shortage.lasts_too_long(60 * kSecond, 61 * kSecond));
}

}  // namespace
}  // namespace openlapi::rpi
