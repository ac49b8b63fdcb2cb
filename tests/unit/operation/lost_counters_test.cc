#include "dataplane/operation/lost_counters.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

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
