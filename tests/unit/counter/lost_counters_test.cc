#include "dataplane/counter/lost_counters.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <map>
#include <random>
#include <vector>

namespace openlapi {
namespace {

std::vector<std::uint64_t> all_of(OwedCounters& owed) {
  std::vector<std::uint64_t> counters;
  owed.give_up_all([&](std::uint64_t counter) { counters.push_back(counter); });
  return counters;
}

TEST(OwedCounters, AreSettledInAnyOrder) {
  OwedCounters owed;
  for (const std::uint64_t counter : {8u, 16u, 8u, 24u, 0u}) owed.add(counter);
  EXPECT_TRUE(owed.settle(24));
  EXPECT_TRUE(owed.settle(8));
  EXPECT_FALSE(owed.settle(24)) << "it was owed once";
  EXPECT_FALSE(owed.settle(0));
  EXPECT_FALSE(owed.settle(32));
  EXPECT_EQ(all_of(owed), (std::vector<std::uint64_t>{16, 8}));
  EXPECT_TRUE(owed.empty());
  EXPECT_FALSE(owed.settle(16));
}

TEST(OwedCounters, NothingIsOwedAtFirst) {
  OwedCounters owed;
  EXPECT_FALSE(owed.settle(8));
  EXPECT_TRUE(owed.empty());
  EXPECT_TRUE(all_of(owed).empty());
}

TEST(OwedCounters, AgreeWithACountOfEach) {
  std::mt19937 random(1);
  OwedCounters owed;
  std::map<std::uint64_t, int> expected;
  std::size_t all = 0;
  for (int step = 0; step < 20'000; ++step) {
    const std::uint64_t counter = 8 * (1 + random() % 50);
    if (random() % 2 == 0 || step % 5000 > 4000) {
      const bool was_owed = expected[counter] != 0;
      EXPECT_EQ(owed.settle(counter), was_owed);
      if (was_owed) --expected[counter], --all;
    } else {
      owed.add(counter);
      ++expected[counter];
      ++all;
    }
    ASSERT_EQ(owed.size(), all);
  }
  for (const std::uint64_t counter : all_of(owed)) --expected[counter];
  for (const auto& [counter, count] : expected) EXPECT_EQ(count, 0) << counter;
}

std::size_t allocated_bytes() {
  const struct mallinfo2 now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

// What is settled takes no memory, whether all answers come or one of them stays away.
TEST(OwedCounters, WhatIsSettledIsGivenBack) {
  for (const bool one_stays : {false, true}) {
    OwedCounters owed;
    owed.add(one_stays ? 8 : 0);
    const std::size_t before = allocated_bytes();
    for (int n = 0; n < 50'000; ++n) {
      owed.add(16);
      ASSERT_TRUE(owed.settle(16));
    }
    EXPECT_LT(allocated_bytes() - before, 8192u);
    EXPECT_EQ(all_of(owed).size(), one_stays ? 1u : 0u);
  }
}

// So many are settled, at both ends, that the others move together.
TEST(OwedCounters, WhatHasMovedIsOwedOnce) {
  constexpr std::uint64_t kAll = 64, kFirst = 16, kEnd = 47;
  OwedCounters owed;
  for (std::uint64_t counter = 0; counter < kAll; ++counter) owed.add(8 * (counter + 1));
  for (std::uint64_t counter = 0; counter < kAll; ++counter) {
    if (counter >= kFirst && counter < kEnd) continue;
    ASSERT_TRUE(owed.settle(8 * (counter + 1)));
  }
  for (std::uint64_t counter = kFirst + 2; counter <= kEnd; ++counter) {
    EXPECT_TRUE(owed.settle(8 * counter));
    for (std::uint64_t again = kFirst + 2; again <= counter; ++again) ASSERT_FALSE(owed.settle(8 * again));
  }
  EXPECT_EQ(all_of(owed), std::vector<std::uint64_t>{8 * (kFirst + 1)});
}

TEST(OwedCounters, WhatWasGivenUpLeavesNothing) {
  OwedCounters owed;
  for (const std::uint64_t counter : {8u, 16u, 24u}) owed.add(counter);
  EXPECT_TRUE(owed.settle(16));
  EXPECT_EQ(all_of(owed).size(), 2u);
  EXPECT_EQ(owed.size(), 0u);
  EXPECT_TRUE(all_of(owed).empty());
  owed.add(32);
  EXPECT_FALSE(owed.settle(24));
  EXPECT_TRUE(owed.settle(32));
}

TEST(LostCounters, AreKnownUntilForgotten) {
  LostCounters lost;
  EXPECT_EQ(lost.find(8), CounterLoss::none);
  lost.add(8, CounterLoss::peer_lost);
  lost.add(16, CounterLoss::peer_purged);
  lost.add(0, CounterLoss::peer_lost);
  EXPECT_EQ(lost.find(8), CounterLoss::peer_lost);
  EXPECT_EQ(lost.find(16), CounterLoss::peer_purged);
  EXPECT_EQ(lost.find(0), CounterLoss::none);
  lost.forget(8);
  EXPECT_EQ(lost.find(8), CounterLoss::none);
  EXPECT_EQ(lost.find(16), CounterLoss::peer_purged);
}

}  // namespace
}  // namespace openlapi
