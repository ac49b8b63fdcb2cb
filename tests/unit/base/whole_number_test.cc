#include "dataplane/base/whole_number.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace openlapi {
namespace {

TEST(WholeNumber, IsTheWholeText) {
  EXPECT_EQ(whole_number<int>("0"), 0);
  EXPECT_EQ(whole_number<int>("-12"), -12);
  EXPECT_EQ(whole_number<std::uint32_t>("4294967295"), 4294967295u);
  for (const char* text : {"", " 1", "1 ", "+1", "1.0", "0x1", "-", "one"})
    EXPECT_FALSE(whole_number<int>(text)) << text;
}

TEST(WholeNumber, IsWithinItsBounds) {
  EXPECT_EQ(whole_number("1", 1, 5), 1);
  EXPECT_EQ(whole_number("5", 1, 5), 5);
  EXPECT_FALSE(whole_number("0", 1, 5));
  EXPECT_FALSE(whole_number("6", 1, 5));
}

TEST(WholeNumber, FitsItsType) {
  EXPECT_FALSE(whole_number<int>("2147483648"));
  EXPECT_FALSE(whole_number<std::uint32_t>("4294967296"));
  EXPECT_FALSE(whole_number<unsigned>("-1"));
  EXPECT_FALSE(whole_number<unsigned>("-0"));
}

}  // namespace
}  // namespace openlapi
