#include "nic/dpdk/huge_pages.h"

#include <gtest/gtest.h>
#include <stdlib.h>

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

TEST_F(HugePages, OneHasItsTurnAtATime) {
  const auto none = std::chrono::milliseconds(0);
  set("2048kB", 10, 0);
  std::optional<HugePageTurn> first(std::in_place, folder_, none);
  ASSERT_TRUE(first->held());
  EXPECT_FALSE(HugePageTurn(folder_, none).held());
  first.reset();
  EXPECT_TRUE(HugePageTurn(folder_, none).held());
  set("2048kB", 0, 0);
  EXPECT_FALSE(HugePageTurn(folder_).held()) << "nobody waits without pages";
}

}  // namespace
}  // namespace openlapi::dpdk
