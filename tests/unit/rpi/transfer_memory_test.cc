#include "api/rpi/lapi/transfer_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace openlapi::rpi {
namespace {

TEST(TransferMemory, HasPagesOfItsOwn) {
  TransferMemory memory;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{4097}, std::size_t{5} << 20}) {
    void* const first = memory.allocate(size);
    void* const second = memory.allocate(size);
    ASSERT_NE(first, nullptr);
    EXPECT_NE(first, second);
    const auto alignment = std::uintptr_t{size < (2u << 20) ? 4096u : 2u << 20};
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % alignment, 0U) << size;
    std::memset(first, 1, size);
    EXPECT_TRUE(memory.free(first));
    EXPECT_TRUE(memory.free(second));
  }
}

TEST(TransferMemory, FreesOnlyWhatItHasGivenAndOnce) {
  TransferMemory memory;
  int other = 0;
  EXPECT_FALSE(memory.free(nullptr));
  EXPECT_FALSE(memory.free(&other));
  void* const given = memory.allocate(10);
  EXPECT_FALSE(memory.free(static_cast<char*>(given) + 1));
  EXPECT_TRUE(memory.free(given));
  EXPECT_FALSE(memory.free(given));
}

TEST(TransferMemory, SaysThatThereIsNone) {
  TransferMemory memory;
  EXPECT_EQ(memory.allocate(SIZE_MAX), nullptr);
  EXPECT_EQ(memory.allocate(std::size_t{1} << 60), nullptr);
}

}  // namespace
}  // namespace openlapi::rpi
