#include "nic/verbs/registration_cache.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <utility>

namespace openlapi::verbs {
namespace {

constexpr std::uint64_t kPage = 4096;
using Outcome = Registrar::Outcome;

class FakeRegistrar final : public Registrar {
 public:
  Outcome add(std::uint64_t begin, std::uint64_t end, bool writable, Region& region) override {
    ++asked;
    if (writable && begin >= read_only_from) return Outcome::refused;
    if (refuse) return Outcome::refused;
    if (bytes + end - begin > room) return Outcome::no_room;
    bytes += end - begin;
    region.local_key = ++next_key;
    region.remote_key = region.local_key;
    live[region.local_key] = end - begin;
    if (during) during();
    return Outcome::done;
  }
  bool whole_memory(std::uint64_t begin, std::uint64_t, bool writable, Region& region) override {
    if (!has_whole_memory || begin >= unpageable_from || (writable && begin >= read_only_from)) return false;
    region.local_key = region.remote_key = kWholeMemory;
    return true;
  }
  void remove(const Region& region) override {
    ASSERT_EQ(live.count(region.local_key), 1u) << "removed twice";
    bytes -= live[region.local_key];
    live.erase(region.local_key);
  }

  static constexpr std::uint32_t kWholeMemory = 1u << 31;
  bool has_whole_memory = false;
  std::map<std::uint32_t, std::uint64_t> live;
  std::uint64_t bytes = 0;
  std::uint64_t room = UINT64_MAX;
  std::uint64_t read_only_from = UINT64_MAX;
  std::uint64_t unpageable_from = UINT64_MAX;
  bool refuse = false;
  std::function<void()> during;
  std::uint32_t asked = 0;
  std::uint32_t next_key = 0;
};

class FakeMonitor final : public MemoryMonitor {
 public:
  const MemoryChanges& changes() const override { return log; }
  PageRange watch(std::uint64_t begin, std::uint64_t end) override {
    if (begin >= unwatchable_from) return {};
    watched.emplace(begin - widened, end + widened);
    return {begin - widened, end + widened};
  }
  void unwatch(const PageRange& range) noexcept override {
    const auto found = watched.find({range.begin, range.end});
    ASSERT_NE(found, watched.end()) << "not watched";
    watched.erase(found);
  }
  bool settled() override {
    if (unsettled == 0) return true;
    if (--unsettled == 0 && at_last) at_last();
    return false;
  }
  void change(std::uint64_t begin, std::uint64_t end) {
    log.begin_round();
    log.add(begin * kPage, end * kPage, true);
    log.finish_round();
  }

  MemoryChanges log;
  std::uint64_t unwatchable_from = UINT64_MAX;
  std::uint64_t widened = 0;  // bytes more on each side than was asked for
  std::multiset<std::pair<std::uint64_t, std::uint64_t>> watched;
  int unsettled = 0;
  std::function<void()> at_last;
};

class CacheTest : public testing::Test {
 protected:
  RegistrationCache::Entry* acquire(std::uint64_t page, std::uint64_t pages, bool writable = true) {
    return cache.acquire(reinterpret_cast<void*>(static_cast<std::uintptr_t>(page * kPage)), pages * kPage, writable);
  }
  // The key of a registration that is used for a moment; 0: refused.
  std::uint32_t use(std::uint64_t page, std::uint64_t pages, bool writable = true) {
    RegistrationCache::Entry* const entry = acquire(page, pages, writable);
    if (entry == nullptr) return 0;
    const std::uint32_t key = entry->region.local_key;
    cache.release(*entry);
    return key;
  }

  FakeRegistrar registrar;
  FakeMonitor monitor;
  RegistrationCache cache{registrar, &monitor, {.bytes = 100 * kPage, .entries = 8}};
};

TEST_F(CacheTest, ARangeWithinAnEntryIsAHit) {
  const std::uint32_t key = use(10, 10);
  EXPECT_EQ(use(10, 10), key);
  EXPECT_EQ(use(10, 1), key);
  EXPECT_EQ(use(19, 1), key);
  EXPECT_NE(use(9, 2), key) << "begins before it";
  EXPECT_NE(use(19, 2), key) << "ends after it";
  EXPECT_EQ(use(12, 3), key) << "overlapping entries do not hide it";
  EXPECT_EQ(cache.counters().hits, 4u);
  EXPECT_EQ(cache.counters().misses, 3u);
  EXPECT_EQ(cache.entries(), 3u);
  EXPECT_EQ(cache.bytes(), 14 * kPage);
}

TEST_F(CacheTest, WholePagesAreRegistered) {
  std::vector<std::byte> memory(3 * kPage);
  RegistrationCache::Entry* const entry = cache.acquire(memory.data() + 1, 2, true);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->begin % kPage, 0u);
  EXPECT_EQ((entry->end - entry->begin) % kPage, 0u);
  EXPECT_LE(entry->begin, reinterpret_cast<std::uintptr_t>(memory.data() + 1));
  cache.release(*entry);
}

TEST_F(CacheTest, RangesThatCannotBeAreRefused) {
  EXPECT_EQ(cache.acquire(reinterpret_cast<void*>(kPage), 0, true), nullptr);
  EXPECT_EQ(cache.acquire(reinterpret_cast<void*>(UINTPTR_MAX - 5), 6, true), nullptr);
  EXPECT_EQ(cache.acquire(reinterpret_cast<void*>(kPage), SIZE_MAX, true), nullptr);
  EXPECT_EQ(registrar.asked, 0u);
}

TEST_F(CacheTest, AnEntryThatLiesWithinANewOneGoes) {
  use(10, 1);
  RegistrationCache::Entry* const used = acquire(12, 2);
  use(14, 2);
  const std::uint32_t large = use(8, 10);
  EXPECT_EQ(use(12, 2), large);
  EXPECT_EQ(cache.entries(), 2u) << "the new one, and the one that is in use";
  EXPECT_EQ(registrar.live.count(used->region.local_key), 1u);
  cache.release(*used);
  EXPECT_EQ(cache.entries(), 1u);
  EXPECT_EQ(registrar.live.size(), 1u);
}

TEST_F(CacheTest, TheLeastRecentlyUsedIdleEntryLeaves) {
  RegistrationCache::Entry* const used = acquire(0x100, 1);
  std::vector<std::uint32_t> keys;
  for (std::uint64_t i = 1; i < 8; ++i) keys.push_back(use(0x100 + 2 * i, 1));
  EXPECT_EQ(use(0x102, 1), keys[0]);
  use(0x200, 1);  // the ninth
  EXPECT_EQ(cache.entries(), 8u);
  EXPECT_EQ(cache.counters().evicted, 1u);
  EXPECT_EQ(registrar.live.count(keys[1]), 0u) << "the oldest of the idle ones";
  EXPECT_EQ(registrar.live.count(keys[0]), 1u) << "used again lately";
  EXPECT_EQ(registrar.live.count(used->region.local_key), 1u) << "in use";
  cache.release(*used);
  EXPECT_EQ(monitor.watched.size(), 8u);
  EXPECT_FALSE(monitor.watched.contains({0x104 * kPage, 0x105 * kPage})) << "what was evicted";
}

TEST_F(CacheTest, BytesAreBounded) {
  for (std::uint64_t i = 0; i < 20; ++i) {
    use(0x1000 + 100 * i, 30);
    EXPECT_LE(cache.bytes(), 100 * kPage);
  }
  EXPECT_EQ(cache.entries(), 3u);
  EXPECT_NE(use(0x9000, 500), 0u) << "more than the bound: for the time of its use";
  EXPECT_EQ(cache.bytes(), 0u);
  EXPECT_EQ(registrar.bytes, 0u);
}

TEST_F(CacheTest, IdleEntriesMakeRoomInTheAdapter) {
  registrar.room = 10 * kPage;
  use(10, 4);
  const std::uint32_t kept = use(20, 4);
  EXPECT_NE(use(30, 4), 0u);
  EXPECT_EQ(use(20, 4), kept);
  RegistrationCache::Entry* const one = acquire(20, 4);
  RegistrationCache::Entry* const other = acquire(30, 4);
  EXPECT_EQ(acquire(40, 3), nullptr) << "those in use stay";
  EXPECT_EQ(cache.counters().refused, 1u);
  cache.release(*one);
  cache.release(*other);
  EXPECT_NE(use(40, 3), 0u);
}

TEST_F(CacheTest, WhatTheAdapterRefusesLeavesNothing) {
  registrar.refuse = true;
  EXPECT_EQ(acquire(10, 1), nullptr);
  EXPECT_EQ(acquire(10, 1, false), nullptr);
  EXPECT_EQ(cache.entries(), 0u);
  EXPECT_TRUE(monitor.watched.empty());
  registrar.refuse = false;
  EXPECT_NE(use(10, 1), 0u);
}

TEST_F(CacheTest, MemoryThatCannotBeWrittenIsReadOnly) {
  registrar.read_only_from = 10 * kPage;
  EXPECT_EQ(acquire(10, 4), nullptr);
  const std::uint32_t key = use(10, 4, false);
  EXPECT_NE(key, 0u);
  EXPECT_EQ(use(11, 1, false), key);
  EXPECT_EQ(acquire(11, 1), nullptr);
  registrar.read_only_from = UINT64_MAX;  // the process has made it writable
  const std::uint32_t part = use(11, 1);
  EXPECT_NE(part, 0u);
  EXPECT_EQ(use(11, 1, false), part);
  EXPECT_NE(use(10, 4, false), key);
  EXPECT_EQ(registrar.live.size(), cache.entries());
}

TEST_F(CacheTest, ChangedMemoryIsRegisteredAgain) {
  const std::uint32_t key = use(10, 10), other = use(30, 10);
  monitor.change(5, 10);
  EXPECT_EQ(use(10, 10), key);
  monitor.change(20, 30);
  EXPECT_EQ(use(10, 10), key);
  monitor.change(19, 21);
  EXPECT_NE(use(10, 10), key);
  EXPECT_EQ(use(30, 10), other);
  EXPECT_EQ(cache.counters().invalidated, 1u);
  EXPECT_EQ(registrar.live.count(key), 0u);
  monitor.change(0, 0x100000);
  cache.settle();
  EXPECT_TRUE(registrar.live.empty()) << "pages of memory that is gone are given back";
}

TEST_F(CacheTest, MoreMayBeWatchedThanWasAskedFor) {
  monitor.widened = 2 * kPage;
  use(10, 10);
  EXPECT_TRUE(monitor.watched.contains({8 * kPage, 22 * kPage}));
  monitor.change(8, 10);
  use(10, 10);
  EXPECT_EQ(cache.counters().invalidated, 0u) << "beside the entry";
  monitor.change(10, 11);
  cache.settle();
  EXPECT_TRUE(monitor.watched.empty());
}

TEST_F(CacheTest, ChangedMemoryStaysRegisteredForWhoUsesIt) {
  RegistrationCache::Entry* const used = acquire(10, 10);
  const std::uint32_t key = used->region.local_key;
  monitor.change(12, 13);
  EXPECT_NE(use(10, 10), key);
  EXPECT_EQ(registrar.live.count(key), 1u);
  cache.release(*used);
  EXPECT_EQ(registrar.live.count(key), 0u);
}

TEST_F(CacheTest, ManyChangesBetweenTwoLooks) {
  const std::uint32_t key = use(10, 10);
  for (std::uint64_t i = 0; i < MemoryChanges::kKept; ++i) monitor.change(100, 101);
  EXPECT_EQ(use(10, 10), key);
  monitor.change(10, 11);
  for (std::uint64_t i = 0; i < MemoryChanges::kKept; ++i) monitor.change(100, 101);
  EXPECT_NE(use(10, 10), key);
}

TEST_F(CacheTest, AChangeDuringTheRegistrationCounts) {
  registrar.during = [&] { monitor.change(10, 11); };
  const std::uint32_t key = use(10, 10);
  registrar.during = nullptr;
  EXPECT_NE(use(10, 10), key);
}

TEST_F(CacheTest, AThreadThatIsStillUnmappingIsWaitedFor) {
  const std::uint32_t key = use(10, 10);
  const auto acquire_current = [&] { return cache.acquire_current(reinterpret_cast<void*>(10 * kPage), kPage, true); };
  monitor.unsettled = 3;
  monitor.at_last = [&] { monitor.change(10, 11); };
  RegistrationCache::Entry* entry = acquire_current();
  ASSERT_NE(entry, nullptr);
  EXPECT_NE(entry->region.local_key, key);
  cache.release(*entry);
  // Memory that never comes to rest.
  registrar.during = [&] { monitor.change(10, 11); };
  monitor.change(10, 11);
  EXPECT_EQ(acquire_current(), nullptr);
  EXPECT_TRUE(registrar.live.empty());
}

TEST_F(CacheTest, WhatIsNotWatchedIsKeptForItsUseOnly) {
  monitor.unwatchable_from = 10 * kPage;
  const std::uint32_t key = use(10, 10);
  EXPECT_NE(key, 0u);
  EXPECT_TRUE(registrar.live.empty());
  EXPECT_NE(use(10, 10), key);
  EXPECT_EQ(cache.counters().unwatched, 2u);
  EXPECT_NE(use(5, 1), 0u);
  EXPECT_EQ(cache.entries(), 1u);
}

TEST_F(CacheTest, WhatIsNotWatchedIsUsedInTheRegionOfAllMemory) {
  registrar.has_whole_memory = true;
  monitor.unwatchable_from = 10 * kPage;
  const std::uint32_t kept = use(5, 1);
  EXPECT_NE(kept, FakeRegistrar::kWholeMemory);
  EXPECT_EQ(use(5, 1), kept);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(use(10, 1000), FakeRegistrar::kWholeMemory);
  EXPECT_EQ(use(5, 1), kept) << "what pins nothing takes no room";
  EXPECT_EQ(registrar.asked, 1u);
  EXPECT_EQ(cache.entries(), 1u);
  EXPECT_EQ(cache.bytes(), kPage);
  EXPECT_EQ(cache.counters().on_demand, 3u);
  EXPECT_EQ(cache.counters().unwatched, 0u);
  RegistrationCache::Entry* const entry = acquire(10, 1);
  EXPECT_EQ(cache.find(entry->number, entry->generation), entry);
  const std::uint32_t number = entry->number, generation = entry->generation;
  cache.release(*entry);
  EXPECT_EQ(cache.find(number, generation), nullptr);
  monitor.unwatchable_from = UINT64_MAX;
  EXPECT_NE(use(10, 1), FakeRegistrar::kWholeMemory) << "and as soon as it can be kept, it is";
  EXPECT_EQ(cache.entries(), 2u);
}

TEST_F(CacheTest, WhatHasNoRoomIsUsedInTheRegionOfAllMemory) {
  registrar.has_whole_memory = true;
  registrar.room = 10 * kPage;
  RegistrationCache::Entry* const used = acquire(10, 8);
  EXPECT_EQ(use(30, 4), FakeRegistrar::kWholeMemory);
  EXPECT_EQ(monitor.watched.size(), 1u);
  registrar.refuse = true;
  EXPECT_EQ(use(50, 1), 0u) << "memory that is not there";
  cache.release(*used);
}

TEST_F(CacheTest, WhatCannotBePagedIsRegisteredForItsUseOrRefused) {
  registrar.has_whole_memory = true;
  registrar.unpageable_from = 20 * kPage;
  monitor.unwatchable_from = 10 * kPage;
  EXPECT_EQ(use(10, 1), FakeRegistrar::kWholeMemory);
  const std::uint32_t key = use(20, 1);
  EXPECT_NE(key, FakeRegistrar::kWholeMemory);
  EXPECT_NE(key, 0u);
  registrar.refuse = true;
  EXPECT_EQ(use(20, 1), 0u) << "a device's memory: its peer's read would fail";
  EXPECT_TRUE(registrar.live.empty());
}

TEST_F(CacheTest, MemoryThatCannotBeWrittenIsPagedToBeRead) {
  registrar.has_whole_memory = true;
  registrar.read_only_from = monitor.unwatchable_from = 10 * kPage;
  EXPECT_EQ(use(10, 1, false), FakeRegistrar::kWholeMemory);
  EXPECT_EQ(use(10, 1, true), 0u);
}

TEST_F(CacheTest, WhatCannotFitLeavesTheOthers) {
  registrar.room = 10 * kPage;
  std::uint32_t one = use(10, 4), other = use(20, 4);
  registrar.has_whole_memory = true;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(use(30, 12), FakeRegistrar::kWholeMemory);
  EXPECT_EQ(use(10, 4), one);
  EXPECT_EQ(use(20, 4), other);
  EXPECT_EQ(cache.counters().evicted, 0u);
  registrar.room = kPage;  // as where others of this user have pinned the rest
  EXPECT_EQ(use(40, 3), FakeRegistrar::kWholeMemory);
  EXPECT_EQ(cache.counters().evicted, 1u) << "one try";
  registrar.room = 10 * kPage;
  EXPECT_EQ(use(20, 4), other);
  registrar.unpageable_from = 0;
  EXPECT_NE(use(50, 9), 0u) << "where it is the only way";
}

TEST_F(CacheTest, TheRegionOfAllMemoryIsNotRemoved) {
  registrar.has_whole_memory = true;
  {
    RegistrationCache bare(registrar, nullptr, {});
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(bare.acquire_current(&bare, 1, true)->region.local_key, FakeRegistrar::kWholeMemory);
  }
  EXPECT_EQ(registrar.asked, 0u);
}

TEST_F(CacheTest, WithoutAMonitorNothingIsKept) {
  RegistrationCache bare(registrar, nullptr, {});
  for (int i = 0; i < 3; ++i) {
    RegistrationCache::Entry* const entry = bare.acquire_current(reinterpret_cast<void*>(kPage), kPage, true);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(registrar.live.size(), 1u);
    bare.release(*entry);
    EXPECT_TRUE(registrar.live.empty());
  }
}

TEST_F(CacheTest, EntriesAreFoundByNumberWhileInUse) {
  RegistrationCache::Entry* const entry = acquire(10, 1);
  const std::uint32_t number = entry->number, generation = entry->generation;
  EXPECT_EQ(cache.find(number, generation), entry);
  EXPECT_EQ(cache.find(number, generation + 1), nullptr);
  EXPECT_EQ(cache.find(number + 1, generation), nullptr);
  cache.release(*entry);
  EXPECT_EQ(cache.find(number, generation), nullptr);
}

TEST_F(CacheTest, AllIsDeregisteredAtTheEnd) {
  {
    RegistrationCache short_lived(registrar, &monitor, {});
    short_lived.release(*short_lived.acquire(reinterpret_cast<void*>(kPage), kPage, true));
    EXPECT_EQ(registrar.live.size(), 1u);
    EXPECT_EQ(monitor.watched.size(), 1u);
  }
  EXPECT_TRUE(registrar.live.empty());
  EXPECT_TRUE(monitor.watched.empty());
}

// Against a plain model: what is found covers the range, and is no older than the range's last change.
TEST_F(CacheTest, RandomUseNeverFindsWhatHasChanged) {
  std::uint64_t seed = 12345;
  const auto random = [&](std::uint64_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
  };
  std::vector<std::uint32_t> changed_at(64);  // the newest key when a page was changed
  std::vector<RegistrationCache::Entry*> used;
  for (int step = 0; step < 200'000; ++step) {
    const std::uint64_t first = 1 + random(62), pages = 1 + random(63 - first);
    if (random(4) == 0) {
      monitor.change(first, first + pages);
      for (std::uint64_t page = first; page < first + pages; ++page) changed_at[page] = registrar.next_key;
      continue;
    }
    RegistrationCache::Entry* const entry = acquire(first, pages);
    ASSERT_TRUE(entry != nullptr && entry->begin <= first * kPage && entry->end >= (first + pages) * kPage);
    for (std::uint64_t page = entry->begin / kPage; page < entry->end / kPage; ++page) {
      ASSERT_GT(entry->region.local_key, changed_at[page]) << "step " << step;
    }
    ASSERT_EQ(registrar.live.count(entry->region.local_key), 1u);
    used.push_back(entry);
    if (used.size() > 5 || random(2) == 0) {
      const std::size_t which = random(used.size());
      cache.release(*used[which]);
      used.erase(used.begin() + static_cast<std::ptrdiff_t>(which));
    }
    ASSERT_EQ(registrar.live.size(), cache.entries());
    ASSERT_LE(cache.entries(), 8u + used.size());
    ASSERT_LE(monitor.watched.size(), cache.entries());
  }
  for (RegistrationCache::Entry* entry : used) cache.release(*entry);
}

}  // namespace
}  // namespace openlapi::verbs
