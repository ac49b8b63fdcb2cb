// Reads from and into memory that nobody has registered, over a shim that pages on demand; and where it is not so.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/beds/verbs_adapters.h"
#include "tests/beds/verbs_pulls.h"

namespace openlapi::test {
namespace {

using verbs::OnDemandPaging;
using verbs::RegistrationCache;

constexpr std::uint64_t kImplicit = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
constexpr std::size_t kBytes = 300'000;

char* map(int flags, void* where = nullptr) {
  void* const memory =
      mmap(where, kBytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | (where != nullptr ? MAP_FIXED : 0), -1, 0);
  EXPECT_NE(memory, MAP_FAILED);
  return static_cast<char*>(memory);
}

class VerbsPaging : public VerbsAdapters {
 protected:
  VerbsPaging() {
    bed_has_bulk = true;
    adapter_shim.on_demand_paging = kImplicit;
  }

  void choose(OnDemandPaging paging) {
    bed_changes = [paging](VerbsConfig& config) { config.bulk_limits.on_demand_paging = paging; };
  }

  // Each lap has new bytes, in other memory at the same address.
  void expect_right_bytes(VerbsPair& pair, int flags) {
    char *const source = map(flags), *const sink = map(flags);
    for (std::uint64_t lap = 0; lap < 6; ++lap) {
      map(flags, source);
      map(flags, sink);
      fill(source, kBytes, lap);
      ASSERT_TRUE(pull_exposed(pair, source, sink, kBytes));
      ASSERT_EQ(std::memcmp(source, sink, kBytes), 0) << lap;
    }
    munmap(source, kBytes);
    munmap(sink, kBytes);
  }

  static const RegistrationCache::Counters& counters(const VerbsPointer& task) {
    return task->bulk()->registrations().counters();
  }

  // Of regions of all memory.
  static std::ptrdiff_t asked_for() {
    const std::vector<int> rights = requests_of_adapter().rights;
    return std::ranges::count_if(rights, [](int one) { return (one & IBV_ACCESS_ON_DEMAND) != 0; });
  }

  // All memory that is used here is registered, each time or once.
  void expect_none(VerbsPair& pair) {
    expect_right_bytes(pair, MAP_SHARED);
    expect_right_bytes(pair, MAP_PRIVATE);
    EXPECT_EQ(requests_of_adapter().paged, 0);
    EXPECT_EQ(counters(pair.left).on_demand, 0u);
    EXPECT_GE(counters(pair.left).unwatched, 6u);
  }
};

TEST_F(VerbsPaging, WhatCannotStayRegisteredIsPaged) {
  VerbsPair pair;
  EXPECT_EQ(asked_for(), 0) << "its key opens all memory";
  expect_right_bytes(pair, MAP_SHARED);
  EXPECT_EQ(asked_for(), 2) << "one for each transport";
  EXPECT_GE(requests_of_adapter().paged, 12);
  for (const VerbsPointer* task : {&pair.left, &pair.right}) {
    EXPECT_GE(counters(*task).on_demand, 6u);
    EXPECT_EQ(counters(*task).unwatched, 0u);
    EXPECT_EQ((*task)->bulk()->registrations().entries(), 0u);
  }
  const int paged = requests_of_adapter().paged;
  expect_right_bytes(pair, MAP_PRIVATE);
  EXPECT_EQ(requests_of_adapter().paged, paged) << "this can stay registered";
  EXPECT_EQ(asked_for(), 2);
}

TEST_F(VerbsPaging, NothingIsRegisteredIfAllIsToBePaged) {
  choose(OnDemandPaging::always);
  VerbsPair pair;
  const std::size_t before = requests_of_adapter().rights.size();
  expect_right_bytes(pair, MAP_PRIVATE);
  expect_right_bytes(pair, MAP_SHARED);
  EXPECT_GE(requests_of_adapter().paged, 24);
  EXPECT_EQ(requests_of_adapter().rights.size(), before);
  EXPECT_EQ(pair.left->bulk()->registration_text(), "memory is not registered: the adapter pages on demand");
}

TEST_F(VerbsPaging, WhatMayNotBePinnedIsPaged) {
  VerbsPair pair;
  adapter_shim.most_registered = kBytes / 2;
  expect_right_bytes(pair, MAP_PRIVATE);
  EXPECT_GE(requests_of_adapter().paged, 12);
}

TEST_F(VerbsPaging, MemoryThatIsNotThereFailsTheReadAndTheNextIsRight) {
  choose(OnDemandPaging::always);
  VerbsPair pair;
  ASSERT_TRUE(recovers(pair));
  char* const source = map(MAP_PRIVATE);
  std::vector<char> sink(kBytes);
  MemoryKey key;
  ASSERT_TRUE(pair.right->capabilities().bulk_memory->expose(source, kBytes, key));
  munmap(source, kBytes);
  EXPECT_FALSE(pull_all(pair, source, key, sink.data(), kBytes));
  pair.right->capabilities().bulk_memory->withdraw(key);
  EXPECT_TRUE(recovers(pair));
}

// Such as that of devices.
TEST_F(VerbsPaging, MemoryThatCannotBePagedIsRefusedBeforeItIsRead) {
  for (const OnDemandPaging paging : {OnDemandPaging::beside_cache, OnDemandPaging::always}) {
    choose(paging);
    VerbsPair pair;
    char* const source = map(MAP_SHARED);
    mprotect(source, kBytes, PROT_NONE);
    MemoryKey key;
    EXPECT_FALSE(pair.right->capabilities().bulk_memory->expose(source, kBytes, key));
    mprotect(source, kBytes, PROT_READ | PROT_WRITE);
    ASSERT_TRUE(pair.right->capabilities().bulk_memory->expose(source, kBytes, key));
    pair.right->capabilities().bulk_memory->withdraw(key);
    munmap(source, kBytes);
  }
}

TEST_F(VerbsPaging, NoneWhereItIsSwitchedOff) {
  choose(OnDemandPaging::never);
  VerbsPair pair;
  expect_none(pair);
  EXPECT_EQ(asked_for(), 0);
}

TEST_F(VerbsPaging, NoneWhereTheAdapterPagesSingleRangesOnly) {
  adapter_shim.on_demand_paging = IBV_ODP_SUPPORT;
  choose(OnDemandPaging::always);
  VerbsPair pair;
  expect_none(pair);
  EXPECT_EQ(asked_for(), 0);
}

TEST_F(VerbsPaging, NoneWhereTheAdapterRefusesAllMemory) {
  adapter_shim.paging_refused = true;
  choose(OnDemandPaging::always);
  VerbsPair pair;
  expect_none(pair);
  EXPECT_EQ(asked_for(), 2);
}

}  // namespace
}  // namespace openlapi::test
