#include "dataplane/base/memory_changes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

namespace openlapi {
namespace {

using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

Ranges take(MemoryChanges::Reader& reader) {
  Ranges ranges;
  reader.take([] { std::this_thread::yield(); },
              [&](std::uint64_t begin, std::uint64_t end, bool) { ranges.emplace_back(begin, end); });
  return ranges;
}

void add(MemoryChanges& changes, std::uint64_t begin, std::uint64_t end) {
  changes.begin_round();
  changes.add(begin, end, begin % 2 == 0);
  changes.finish_round();
}

TEST(MemoryChanges, EachReaderIsToldWhatChangedSinceItBegan) {
  MemoryChanges changes;
  add(changes, 1, 2);
  MemoryChanges::Reader one(changes), other(changes);
  EXPECT_EQ(take(one), Ranges());
  add(changes, 3, 4);
  add(changes, 5, 6);
  EXPECT_TRUE(one.behind());
  EXPECT_EQ(take(one), (Ranges{{3, 4}, {5, 6}}));
  EXPECT_FALSE(one.behind());
  EXPECT_EQ(take(one), Ranges());
  add(changes, 7, 8);
  EXPECT_EQ(take(one), (Ranges{{7, 8}}));
  EXPECT_EQ(take(other), (Ranges{{3, 4}, {5, 6}, {7, 8}}));
}

TEST(MemoryChanges, WhatIsGoneIsToldApartFromWhatWasEmptied) {
  MemoryChanges changes;
  MemoryChanges::Reader reader(changes);
  std::vector<bool> gone;
  const auto look = [&] { reader.take([] {}, [&](std::uint64_t, std::uint64_t, bool one) { gone.push_back(one); }); };
  add(changes, 1, 2);
  add(changes, 2, 3);
  look();
  EXPECT_EQ(gone, (std::vector<bool>{false, true}));
  gone.clear();
  for (std::uint64_t i = 0; i <= MemoryChanges::kKept; ++i) add(changes, 1, 2);
  look();
  EXPECT_EQ(gone, (std::vector<bool>{false})) << "nobody knows";
}

TEST(MemoryChanges, ALateReaderIsToldThatAllMayHaveChanged) {
  MemoryChanges changes;
  MemoryChanges::Reader reader(changes);
  for (std::uint64_t i = 0; i < MemoryChanges::kKept; ++i) add(changes, i, i + 1);
  EXPECT_EQ(take(reader).size(), MemoryChanges::kKept);
  for (std::uint64_t i = 0; i <= MemoryChanges::kKept; ++i) add(changes, i, i + 1);
  EXPECT_EQ(take(reader), (Ranges{{0, UINT64_MAX}}));
  add(changes, 1, 2);
  EXPECT_EQ(take(reader), (Ranges{{1, 2}}));
}

TEST(MemoryChanges, AReaderWaitsForTheRoundThatHasBegun) {
  MemoryChanges changes;
  MemoryChanges::Reader reader(changes);
  changes.begin_round();
  ASSERT_TRUE(reader.behind());
  Ranges ranges;
  reader.take(
      [&] {
        changes.add(1, 2, false);
        changes.finish_round();
      },
      [&](std::uint64_t begin, std::uint64_t end, bool) { ranges.emplace_back(begin, end); });
  EXPECT_EQ(ranges, (Ranges{{1, 2}}));
}

// Every change is told in order or covered by "all", whatever the two threads do.
TEST(MemoryChanges, NothingIsMissedOrTornBetweenTwoThreads) {
  constexpr std::uint64_t kChanges = 200'000;
  MemoryChanges changes;
  MemoryChanges::Reader reader(changes);
  std::atomic<bool> over{false};
  std::thread writer([&] {
    for (std::uint64_t i = 1; i <= kChanges; ++i) add(changes, i, 2 * i);
    over = true;
  });
  std::uint64_t expected = 1;
  bool all = false, right = true;
  for (bool last = false; !last;) {
    last = over;
    for (const auto& [begin, end] : take(reader)) {
      const bool anything = begin == 0 && end == UINT64_MAX;
      right = right && (anything || (end == 2 * begin && (begin == expected || (all && begin > expected))));
      if (!anything) expected = begin + 1;
      all = anything;
    }
  }
  writer.join();
  EXPECT_TRUE(right);
  EXPECT_TRUE(all || expected == kChanges + 1);
}

}  // namespace
}  // namespace openlapi
