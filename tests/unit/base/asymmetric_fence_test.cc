#include "dataplane/base/asymmetric_fence.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <thread>

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

// From here on the calling thread's membarrier(2) fails.
void begin_sandbox() {
  std::array<sock_filter, 4> program = {{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
                                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
  const sock_fprog filter = {program.size(), program.data()};
  ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
}

// Threads that have had light fences so far would corrupt memory.
TEST(AsymmetricFenceDeathTest, EndsTheProcessWhereASandboxHasTakenTheBarrier) {
  if (!still_has_process_barrier()) return;  // never was: all fences are full ones
  EXPECT_DEATH(
      {
        begin_sandbox();
        if (!still_has_process_barrier()) heavy_fence();
      },
      "membarrier.* fails now .*sandbox");
}

}  // namespace
}  // namespace openlapi
