#include "dataplane/base/own_memory.h"

#include <gtest/gtest.h>

namespace openlapi {
namespace {

constexpr std::uint64_t kEnd = std::uint64_t{1} << 32;

TEST(OwnMemory, OfA32BitTaskEndsAt4GiB) {
  EXPECT_TRUE(is_32_bit_memory(0, 0));
  EXPECT_TRUE(is_32_bit_memory(0, kEnd));
  EXPECT_TRUE(is_32_bit_memory(kEnd - 1, 1));
  EXPECT_FALSE(is_32_bit_memory(kEnd - 1, 2));
  EXPECT_FALSE(is_32_bit_memory(kEnd, 0));
  EXPECT_FALSE(is_32_bit_memory(0, kEnd + 1));
  EXPECT_FALSE(is_32_bit_memory(16, UINT64_MAX));
  EXPECT_FALSE(is_32_bit_memory(UINT64_MAX - (std::uint64_t{1} << 31), 1));
}

TEST(OwnMemory, AWidenedSignMeansTheLowerHalf) {
  EXPECT_EQ(without_widened_sign(0xffffffff80000000), 0x80000000u);
  EXPECT_EQ(without_widened_sign(0xffffffffffffffff), 0xffffffffu);
  EXPECT_EQ(without_widened_sign(0xffffffff7fffffff), 0xffffffff7fffffff);
  EXPECT_EQ(without_widened_sign(0x80000000), 0x80000000u);
  EXPECT_EQ(without_widened_sign(0xfffffffe80000000), 0xfffffffe80000000);
  EXPECT_TRUE(is_32_bit_memory(0xfffffffffffffff0, 16));
  EXPECT_FALSE(is_32_bit_memory(0xfffffffffffffff0, 17));
  EXPECT_FALSE(is_32_bit_memory(0xffffffff7fffffff, 1));
}

TEST(OwnMemory, OfThisTaskHasItsOwnWidth) {
  EXPECT_EQ(is_own_memory(kEnd, 1), sizeof(void*) == 8);
  EXPECT_TRUE(is_own_memory(kEnd - 1, 1));
}

}  // namespace
}  // namespace openlapi
