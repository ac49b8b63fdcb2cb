// Memory that neighbours reach directly, and adapters, too. Here it is static data, for which the kernel of the bed
// need not be able to promote other memory.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "dataplane/base/process_maps.h"
#include "shm/direct/open_memory.h"
#include "tests/beds/verbs_pulls.h"

namespace openlapi::test {
namespace {

using direct::OpenMemory;
using direct::Refusal;

constexpr std::size_t kOpened = 1 << 20;
alignas(4096) char opened[kOpened];

bool is_open() {
  bool shared = false;
  each_mapping([&](const Mapping& mapping) {
    if (mapping.contains(address(opened))) shared = mapping.shared;
    return true;
  });
  return shared;
}

OpenMemory::Pointer open_memory() {
  std::string reason;
  OpenMemory::Pointer memory = OpenMemory::start({.accessors = 2, .promotes = false}, reason);
  EXPECT_TRUE(memory) << reason;
  return memory;
}

void fork_once() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  int status = 1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(VerbsDirect, WhatIsRegisteredIsOpenedUnlessItIsInUse) {
  VerbsPair pair;
  std::vector<char> source(kOpened);
  fill(source.data(), kOpened, 1);
  ASSERT_TRUE(pull_exposed(pair, source.data(), opened, kOpened));
  const OpenMemory::Pointer memory = open_memory();
  MemoryKey key;
  ASSERT_TRUE(pair.left->capabilities().bulk_memory->expose(opened, kOpened, key));
  EXPECT_EQ(memory->promote_data_segments(), Refusal::kPinned);
  EXPECT_FALSE(is_open());
  pair.left->capabilities().bulk_memory->withdraw(key);
  EXPECT_EQ(memory->promote_data_segments(), Refusal::kNone);
  EXPECT_TRUE(is_open());
  for (std::uint64_t lap = 2; lap < 6; ++lap) {
    fill(source.data(), kOpened, lap);
    ASSERT_TRUE(pull_exposed(pair, source.data(), opened, kOpened));
    EXPECT_EQ(std::memcmp(source.data(), opened, kOpened), 0) << lap;
  }
}

// The read waits for a connection while the fork takes its memory back, and the program gets pages of its own.
TEST(VerbsDirect, WhatAForkHasMovedIsReadAgain) {
  VerbsPair pair;
  std::vector<char> source(kOpened);
  fill(source.data(), kOpened, 7);
  std::memset(opened, 1, kOpened);
  const OpenMemory::Pointer memory = open_memory();
  ASSERT_EQ(memory->promote_data_segments(), Refusal::kNone);
  ASSERT_TRUE(is_open());
  MemoryKey key;
  ASSERT_TRUE(pair.right->capabilities().bulk_memory->expose(source.data(), kOpened, key));
  BulkMemory& left = *pair.left->capabilities().bulk_memory;
  ASSERT_EQ(left.begin_read(1, address(source.data()), key, opened, kOpened, 1, {}), Begin::begun);
  fork_once();
  EXPECT_FALSE(is_open());
  std::memset(opened, 2, kOpened);
  BulkMemory::Ending ending{};
  ASSERT_TRUE(wait_for([&] {
    empty(*pair.left);
    empty(*pair.right);
    return left.take_endings({&ending, 1}) == 1;
  }));
  EXPECT_TRUE(ending.done);
  EXPECT_EQ(std::memcmp(source.data(), opened, kOpened), 0);
  pair.right->capabilities().bulk_memory->withdraw(key);
}

}  // namespace
}  // namespace openlapi::test
