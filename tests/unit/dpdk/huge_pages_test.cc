#include "nic/dpdk/huge_pages.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>

namespace openlapi::dpdk {
namespace {

class HugePages : public testing::Test {
 protected:
  HugePages() {
    char name[] = "/tmp/huge_pages.XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~HugePages() override { std::filesystem::remove_all(folder_); }

  void set(const std::string& size, unsigned free, unsigned reserved) {
    const std::string path = folder_ + "/hugepages-" + size;
    std::filesystem::create_directories(path);
    std::ofstream(path + "/free_hugepages") << free;
    std::ofstream(path + "/resv_hugepages") << reserved;
  }

  std::string folder_;
};

constexpr std::uint64_t kMiB = 1 << 20;

TEST_F(HugePages, ReservedOnesAreNotFree) {
  EXPECT_EQ(free_huge_bytes(folder_), 0u);
  set("2048kB", 10, 4);
  EXPECT_EQ(free_huge_bytes(folder_), 12 * kMiB);
  set("1048576kB", 1, 0);
  EXPECT_EQ(free_huge_bytes(folder_), (12 + 1024) * kMiB);
  set("1048576kB", 1, 2);
  EXPECT_EQ(free_huge_bytes(folder_), 12 * kMiB);
  EXPECT_EQ(free_huge_bytes(folder_ + "/absent"), 0u);
}

TEST_F(HugePages, WhatTheKernelDoesNotGiveIsNotHeld) {
  EXPECT_FALSE(huge_pages_hold(kMiB, folder_));
  set("2048kB", 1u << 30, 0);  // more than any machine has
  EXPECT_FALSE(huge_pages_hold(std::uint64_t{1} << 50, folder_)) << "the kernel has been asked";
  EXPECT_FALSE(huge_pages_hold(0, folder_));
}

constexpr auto kNoPatience = std::chrono::milliseconds(0);
constexpr HugePageNeed kNeed{.bytes = 9 * kMiB, .tasks = 4};  // 5 pages of 2 MiB each

TEST_F(HugePages, OneHasItsTurnAtATime) {
  set("2048kB", 10, 0);
  std::optional<HugePageTurn> first(std::in_place, kNeed, folder_, kNoPatience);
  ASSERT_TRUE(first->held() && first->may_take());
  const HugePageTurn second(kNeed, folder_, kNoPatience);
  EXPECT_FALSE(second.held() || second.may_take());
  first.reset();
  EXPECT_TRUE(HugePageTurn(kNeed, folder_, kNoPatience).held());
}

TEST_F(HugePages, AProcessThatIsForkedMeanwhileKeepsNothing) {
  set("2048kB", 10, 0);
  std::array<int, 2> end{};
  ASSERT_EQ(pipe(end.data()), 0);
  pid_t child = -1;
  {
    const HugePageTurn turn(kNeed, folder_, kNoPatience);
    ASSERT_TRUE(turn.held());
    child = fork();
    if (child == 0) {
      char byte = 0;
      close(end[1]);
      (void)!read(end[0], &byte, 1);
      _exit(0);
    }
  }
  EXPECT_TRUE(HugePageTurn(kNeed, folder_, kNoPatience).held()) << "it has the lock's descriptor as well";
  close(end[1]);
  close(end[0]);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

TEST_F(HugePages, NobodyWaitsForTooFew) {
  const auto none = [&](HugePageNeed need) {
    const HugePageTurn turn(need, folder_, kNoPatience);
    return !turn.held() && !turn.may_take();
  };
  EXPECT_TRUE(none(kNeed)) << "no pages at all";
  set("2048kB", 4, 0);
  EXPECT_TRUE(none(kNeed)) << "a task needs five";
  set("2048kB", 9, 5);
  EXPECT_TRUE(none(kNeed)) << "others have reserved five";
  set("2048kB", 10, 0);
  EXPECT_TRUE(none({})) << "it will take none";
}

TEST_F(HugePages, NobodyWaitsForThoseThatAreEnoughForAll) {
  set("2048kB", 40, 0);
  const HugePageTurn first(kNeed, folder_, kNoPatience), second(kNeed, folder_, kNoPatience);
  EXPECT_TRUE(first.may_take() && second.may_take());
  EXPECT_FALSE(first.held() || second.held());
  EXPECT_TRUE(HugePageTurn({.bytes = kNeed.bytes}, folder_, kNoPatience).held()) << "nobody knows how many start";
  set("2048kB", 39, 0);
  EXPECT_TRUE(HugePageTurn(kNeed, folder_, kNoPatience).held()) << "as much again is for others";
  set("2048kB", 40, 0);
  set("1048576kB", 1, 0);
  EXPECT_TRUE(HugePageTurn(kNeed, folder_, kNoPatience).held()) << "one page of the size that is taken first";
}

}  // namespace
}  // namespace openlapi::dpdk
