// RDMA READ from and into huge pages.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "tests/beds/verbs_pulls.h"

namespace openlapi::test {
namespace {

constexpr std::size_t kBytes = 1 << 20;

TEST(VerbsBulk, RightBytesInHugePages) {
  command("sysctl -q -w vm.nr_hugepages=4");
  constexpr std::size_t kHuge = 2 << 20;
  const auto map_huge = [](void* where) {
    void* const memory = mmap(where, kHuge, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | (where != nullptr ? MAP_FIXED : 0), -1, 0);
    EXPECT_NE(memory, MAP_FAILED) << std::strerror(errno);
    return static_cast<char*>(memory);
  };
  {
    VerbsPair pair;
    char *const source = map_huge(nullptr), *const sink = map_huge(nullptr);
    for (std::uint64_t lap = 0; lap < 8; ++lap) {
      if (lap % 2 == 0) map_huge(source);
      fill(source, kBytes, lap);
      ASSERT_TRUE(pull_exposed(pair, source + 4096, sink + 4096, kBytes));
      ASSERT_EQ(std::memcmp(source + 4096, sink + 4096, kBytes), 0) << lap;
    }
    EXPECT_EQ(pair.right->bulk()->registrations().entries(), 0u) << "pinned ones make a fork fail where none is free";
    munmap(source, kHuge);
    munmap(sink, kHuge);
  }
  command("sysctl -q -w vm.nr_hugepages=0");
}

}  // namespace
}  // namespace openlapi::test
