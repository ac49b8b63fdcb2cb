#include "dataplane/operation/read_modify_write.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <thread>

namespace openlapi {
namespace {

using wire::RmwOperation;

template <typename Word>
std::uint64_t apply(RmwOperation operation, Word& word, std::uint64_t input, std::uint64_t swap_value = 0) {
  return apply_rmw(operation, sizeof(Word), reinterpret_cast<std::uintptr_t>(&word), input, swap_value);
}

TEST(ReadModifyWrite, EveryOperationOn32Bits) {
  std::array<std::uint32_t, 3> words{7, 40, 7};
  EXPECT_EQ(apply(RmwOperation::fetch_and_add, words[1], 2), 40u);
  EXPECT_EQ(words[1], 42u);
  EXPECT_EQ(apply(RmwOperation::fetch_and_or, words[1], 5), 42u);
  EXPECT_EQ(words[1], 47u);
  EXPECT_EQ(apply(RmwOperation::swap, words[1], 9), 47u);
  EXPECT_EQ(words[1], 9u);
  EXPECT_EQ(apply(RmwOperation::compare_and_swap, words[1], 8, 1), 0u);
  EXPECT_EQ(words[1], 9u);
  EXPECT_EQ(apply(RmwOperation::compare_and_swap, words[1], 9, 1), 1u);
  EXPECT_EQ(words[1], 1u);
  EXPECT_EQ(words[0], 7u) << "a neighbour was touched";
  EXPECT_EQ(words[2], 7u) << "a neighbour was touched";
}

TEST(ReadModifyWrite, EveryOperationOn64Bits) {
  std::uint64_t word = 0xffffffffull;
  EXPECT_EQ(apply(RmwOperation::fetch_and_add, word, 1), 0xffffffffull);
  EXPECT_EQ(word, 0x100000000ull);
  EXPECT_EQ(apply(RmwOperation::fetch_and_or, word, 1ull << 63), 0x100000000ull);
  EXPECT_EQ(apply(RmwOperation::swap, word, ~0ull), 0x8000000100000000ull);
  EXPECT_EQ(apply(RmwOperation::compare_and_swap, word, ~0ull, 3), 1u);
  EXPECT_EQ(word, 3u);
}

TEST(ReadModifyWrite, UnalignedWordsChangeToo) {
  alignas(8) std::array<std::byte, 16> bytes{};
  const std::uint32_t start = 5;
  std::memcpy(bytes.data() + 1, &start, sizeof(start));
  EXPECT_EQ(apply_rmw(RmwOperation::fetch_and_add, 4, reinterpret_cast<std::uintptr_t>(bytes.data() + 1), 3, 0), 5u);
  std::uint32_t end;
  std::memcpy(&end, bytes.data() + 1, sizeof(end));
  EXPECT_EQ(end, 8u);
  EXPECT_EQ(bytes[0], std::byte{0});
  EXPECT_EQ(bytes[5], std::byte{0});
}

#if __SIZEOF_POINTER__ == 4
// 32-bit programs align long long to 4 bytes.
TEST(ReadModifyWrite, A64BitWordAtAMultipleOf4IsAtomic) {
  alignas(8) std::array<std::byte, 16> bytes{};
  auto* word = reinterpret_cast<std::uint64_t*>(bytes.data() + 4);
  constexpr int kRounds = 100'000;
  std::thread other([&] {
    for (int i = 0; i < kRounds; ++i) __atomic_fetch_add(word, 0x1'0000'0001ull, __ATOMIC_SEQ_CST);
  });
  for (int i = 0; i < kRounds; ++i) apply(RmwOperation::fetch_and_add, *word, 0x1'0000'0001ull);
  other.join();
  std::uint64_t sum;
  std::memcpy(&sum, bytes.data() + 4, sizeof(sum));
  EXPECT_EQ(sum, 2ull * kRounds * 0x1'0000'0001ull);
}
#endif

// Until the other thread has come between two of this one's operations that often, however the two are scheduled.
TEST(ReadModifyWrite, IsAtomicAgainstTheProcessorsOwnInstructions) {
  std::uint64_t word = 0, others = 0;
  std::atomic<bool> done{false};
  std::thread other([&] {
    for (; !done.load(std::memory_order_relaxed); ++others) __atomic_fetch_add(&word, 1, __ATOMIC_RELAXED);
  });
  std::uint64_t rounds = 0, expected = 0;
  for (int between = 0; between < 50; ++rounds) {
    const std::uint64_t found = apply(RmwOperation::fetch_and_add, word, 1);
    between += found != expected ? 1 : 0;
    expected = found + 1;
  }
  done.store(true, std::memory_order_relaxed);
  other.join();
  EXPECT_EQ(word, rounds + others);
}

TEST(ReadModifyWrite, ImpossiblePairsAreRefused) {
  EXPECT_TRUE(rmw_is_valid(1, 4));
  EXPECT_TRUE(rmw_is_valid(4, 8));
  EXPECT_FALSE(rmw_is_valid(0, 4));
  EXPECT_FALSE(rmw_is_valid(5, 4));
  EXPECT_FALSE(rmw_is_valid(1, 2));
  EXPECT_FALSE(rmw_is_valid(1, 16));
}

}  // namespace
}  // namespace openlapi
