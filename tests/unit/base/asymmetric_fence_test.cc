#include "dataplane/base/asymmetric_fence.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <atomic>
#include <thread>

#include "tests/support/forbidden_call.h"

namespace openlapi {
namespace {

// Both write, pass their fence and read the other's word: at least one must see the other's write.
TEST(AsymmetricFence, OneOfTwoWritersSeesTheOther) {
  constexpr int kRounds = 20000;
  alignas(64) std::atomic<int> often{0};
  alignas(64) std::atomic<int> seldom{0};
  alignas(64) std::atomic<int> begun{0};
  alignas(64) std::atomic<int> seen_by_often{0};
  std::thread other([&] {
    for (int round = 1; round <= kRounds; ++round) {
      while (begun.load(std::memory_order_acquire) != round) std::this_thread::yield();
      often.store(round, std::memory_order_relaxed);
      light_fence();
      const int seen = seldom.load(std::memory_order_relaxed);
      seen_by_often.store(2 * round + (seen == round ? 1 : 0), std::memory_order_release);
    }
  });
  for (int round = 1; round <= kRounds; ++round) {
    begun.store(round, std::memory_order_release);
    seldom.store(round, std::memory_order_relaxed);
    heavy_fence();
    const bool seen = often.load(std::memory_order_relaxed) == round;
    int answer = 0;
    while ((answer = seen_by_often.load(std::memory_order_acquire)) / 2 != round) std::this_thread::yield();
    ASSERT_TRUE(seen || answer % 2 == 1) << "round " << round;
  }
  other.join();
}

// Threads that have had light fences so far would corrupt memory.
TEST(AsymmetricFenceDeathTest, EndsTheProcessWhereASandboxHasTakenTheBarrier) {
  if (!still_has_process_barrier()) return;  // never was: all fences are full ones
  EXPECT_DEATH(
      {
        forbid_call(SYS_membarrier);
        if (!still_has_process_barrier()) heavy_fence();
      },
      "membarrier.* fails now .*sandbox");
}

}  // namespace
}  // namespace openlapi
