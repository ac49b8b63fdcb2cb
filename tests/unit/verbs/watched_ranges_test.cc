#include "nic/verbs/watched_ranges.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

namespace openlapi::verbs {
namespace {

using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

Ranges remove(WatchedRanges& watched, std::uint64_t begin, std::uint64_t end) {
  Ranges ended;
  watched.remove(begin, end, [&](std::uint64_t from, std::uint64_t to) { ended.emplace_back(from, to); });
  return ended;
}

void watch(WatchedRanges& watched, std::uint64_t begin, std::uint64_t end) {
  watched.add(begin, end);
  watched.arrive(begin, end);
}

Ranges unused(const WatchedRanges& watched, std::uint64_t begin, std::uint64_t end) {
  Ranges found;
  watched.each_unused(begin, end, [&](std::uint64_t from, std::uint64_t to) { found.emplace_back(from, to); });
  return found;
}

TEST(WatchedRanges, WhatHasNoUserAnyMoreEnds) {
  WatchedRanges watched;
  watch(watched, 10, 20);
  watch(watched, 15, 30);
  watch(watched, 40, 50);
  EXPECT_EQ(remove(watched, 10, 20), (Ranges{{10, 15}}));
  EXPECT_EQ(remove(watched, 15, 30), (Ranges{{15, 30}}));
  EXPECT_EQ(watched.pieces(), 1u);
  watch(watched, 40, 50);
  EXPECT_EQ(remove(watched, 40, 50), Ranges());
  EXPECT_EQ(remove(watched, 40, 50), (Ranges{{40, 50}}));
  EXPECT_EQ(watched.pieces(), 0u);
}

TEST(WatchedRanges, WhatIsGoneIsNotTouched) {
  WatchedRanges watched;
  watch(watched, 10, 20);
  watched.lose(12, 14);
  watched.lose(18, 40);
  EXPECT_EQ(remove(watched, 10, 20), (Ranges{{10, 12}, {14, 18}}));
  watch(watched, 10, 20);
  watched.lose(0, UINT64_MAX);
  watch(watched, 15, 25);  // there is other memory now
  EXPECT_EQ(remove(watched, 10, 20), Ranges());
  EXPECT_EQ(remove(watched, 15, 25), (Ranges{{15, 25}}));
}

// As where others watch what lies between.
TEST(WatchedRanges, PartsOfARangeArriveByThemselves) {
  WatchedRanges watched;
  watched.add(10, 50);
  for (const std::uint64_t begin : {10, 40}) watched.divide(begin, begin + 10);
  for (const std::uint64_t begin : {10, 40}) watched.arrive(begin, begin + 10);
  EXPECT_EQ(unused(watched, 5, 55), (Ranges{{5, 10}, {20, 40}, {50, 55}}));
  watch(watched, 15, 45);  // it is other memory now, of which all is watched
  EXPECT_EQ(remove(watched, 10, 50), (Ranges{{10, 15}, {45, 50}}));
  EXPECT_EQ(remove(watched, 15, 45), (Ranges{{15, 45}}));
  EXPECT_EQ(watched.pieces(), 0u);
}

TEST(WatchedRanges, WhatIsNotUsedIsFoundInAnyRange) {
  WatchedRanges watched;
  EXPECT_EQ(unused(watched, 5, 50), (Ranges{{5, 50}}));
  watch(watched, 10, 20);
  watch(watched, 15, 30);
  EXPECT_EQ(unused(watched, 5, 50), (Ranges{{5, 10}, {30, 50}}));
  EXPECT_EQ(unused(watched, 12, 50), (Ranges{{30, 50}}));
  EXPECT_EQ(unused(watched, 12, 28), Ranges());
  EXPECT_EQ(unused(watched, 30, 40), (Ranges{{30, 40}}));
  watched.lose(12, 14);
  EXPECT_EQ(unused(watched, 5, 25), (Ranges{{5, 10}, {12, 14}})) << "its users meant other memory";
}

// Where the kernel stops midway in a registration.
TEST(WatchedRanges, WhatWasLostIsNotFoundAgainByATryThatFails) {
  WatchedRanges watched;
  watch(watched, 10, 20);
  watched.lose(10, 20);
  watched.add(15, 30);
  EXPECT_EQ(remove(watched, 15, 30), Ranges());
  EXPECT_EQ(unused(watched, 10, 30), (Ranges{{10, 30}}));
  EXPECT_EQ(remove(watched, 10, 20), Ranges()) << "it never came back";
  EXPECT_EQ(watched.pieces(), 0u);
}

TEST(WatchedRanges, NeighboursOfWhichTheSameIsKnownAreOne) {
  WatchedRanges watched;
  watch(watched, 0, 1000);
  for (std::uint64_t i = 0; i < 100; ++i) {
    watch(watched, 10 * i, 10 * i + 5);
    watched.lose(10 * i, 10 * i + 5);
    watch(watched, 10 * i, 10 * i + 5);
    remove(watched, 10 * i, 10 * i + 5);
    remove(watched, 10 * i, 10 * i + 5);
  }
  EXPECT_EQ(watched.pieces(), 1u);
}

// Against a model that knows each page.
TEST(WatchedRanges, RandomUse) {
  struct Page {
    int users = 0;
    bool present = false;
  };
  std::array<Page, 64> pages;
  WatchedRanges watched;
  Ranges used;
  std::uint64_t seed = 1;
  const auto random = [&](std::uint64_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
  };
  for (int step = 0; step < 50'000; ++step) {
    const std::uint64_t begin = random(63), end = begin + 1 + random(64 - begin - 1);
    const std::uint64_t what = random(5);
    if (what < 2 && used.size() < 20) {
      watch(watched, begin, end);
      used.emplace_back(begin, end);
      for (std::uint64_t i = begin; i < end; ++i) pages[i] = {pages[i].users + 1, true};
    } else if (what == 2) {
      watched.lose(begin, end);
      for (std::uint64_t i = begin; i < end; ++i) pages[i].present = false;
    } else if (!used.empty()) {
      const std::size_t which = random(used.size());
      const auto [from, to] = used[which];
      used.erase(used.begin() + static_cast<std::ptrdiff_t>(which));
      std::array<bool, 64> expected{}, told{};
      for (std::uint64_t i = from; i < to; ++i) expected[i] = --pages[i].users == 0 && pages[i].present;
      for (const auto& [first, last] : remove(watched, from, to)) {
        for (std::uint64_t i = first; i < last; ++i) told[i] = true;
      }
      ASSERT_EQ(told, expected) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace openlapi::verbs
