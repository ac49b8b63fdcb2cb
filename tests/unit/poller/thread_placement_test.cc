// Which processor a dataplane thread gets.
#include "dataplane/poller/thread_placement.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "dataplane/poller/library_thread.h"
#include "dataplane/poller/machine_cores.h"

namespace openlapi {
namespace {

using Cores = std::vector<std::vector<int>>;

// Two sockets of four cores with two hardware threads each: 0-3 and 8-11, 4-7 and 12-15.
const Cores kTwoSockets{{0, 8}, {1, 9}, {2, 10}, {3, 11}, {4, 12}, {5, 13}, {6, 14}, {7, 15}};
const std::vector<int> kFirstSocket{0, 1, 2, 3, 8, 9, 10, 11};

TEST(PlaceNear, TakesTheLastNearCore) { EXPECT_EQ(place_near(kTwoSockets, kFirstSocket, {0, 1, 1}).processor, 3); }

TEST(PlaceNear, TakesOneForTheOnlyThreadOfTheNodeUnlessToldOtherwise) {
  EXPECT_EQ(place_near(kTwoSockets, kFirstSocket, {}).processor, 3);
  EXPECT_EQ(place_near(kTwoSockets, kFirstSocket, {.instance = 2}).processor, 2);
}

TEST(PlaceNear, TwoCoresForEachTaskAreEnough) {
  EXPECT_EQ(place_near(kTwoSockets, kFirstSocket, {0, 4, 1}).processor, 3);
}

TEST(PlaceNear, EveryThreadOfTheNodeHasItsOwnCore) {
  std::set<int> taken;
  for (unsigned instance = 1; instance <= 2; ++instance) {
    for (unsigned task = 0; task < 2; ++task) {
      taken.insert(place_near(kTwoSockets, kFirstSocket, {task, 2, instance}).processor);
    }
  }
  EXPECT_EQ(taken, (std::set<int>{0, 1, 2, 3}));
  const Placement fifth = place_near(kTwoSockets, kFirstSocket, {0, 2, 3});
  EXPECT_EQ(fifth.processor, -1);
  EXPECT_NE(fifth.reason.find("no core near"), std::string::npos) << fifth.reason;
}

TEST(PlaceNear, NobodyIsPinnedWhereItGainsNothingOrTakesSomething) {
  const struct {
    Cores cores;
    std::vector<int> near;
    ThreadNumber number;
    const char* reason;
  } cases[] = {
      {kTwoSockets, {}, {}, "not known"},
      {{}, kFirstSocket, {}, "not known"},
      {kTwoSockets, kFirstSocket, {0, 5, 1}, "fewer than two cores"},
      {{{0, 1}}, {0, 1}, {}, "fewer than two cores"},  // two hardware threads are not two cores
      {{{0}, {1}}, {0, 1}, {}, "equally near"},
      {{{4, 12}, {5, 13}}, kFirstSocket, {}, "no core near"},
      {{{0, 12}, {5, 13}}, {0}, {}, "no core near"},  // half a core
  };
  for (const auto& [cores, near, number, reason] : cases) {
    const Placement placement = place_near(cores, near, number);
    EXPECT_EQ(placement.processor, -1) << reason;
    EXPECT_NE(placement.reason.find(reason), std::string::npos) << placement.reason;
  }
}

TEST(PlaceAsListed, ThreadsTakeTurns) {
  EXPECT_EQ(place_as_listed({3}, {5, 8, 2}), 3);
  EXPECT_EQ(place_as_listed({4, 6, 8}, {0, 2, 1}), 4);
  EXPECT_EQ(place_as_listed({4, 6, 8}, {1, 2, 1}), 6);
  EXPECT_EQ(place_as_listed({4, 6, 8}, {0, 2, 2}), 8);
}

TEST(ToRanges, JoinsNeighbours) {
  EXPECT_EQ(to_ranges({}), "");
  EXPECT_EQ(to_ranges({3}), "3");
  EXPECT_EQ(to_ranges({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

TEST(LibraryThreadPlace, IsItsOwnAndLeavesTheCreatorsAlone) {
  const std::vector<int> before = allowed_processors();
  ASSERT_FALSE(before.empty());
  static std::vector<int> inside;
  static char name[16];
  const auto look = [](void*) {
    inside = allowed_processors();
    pthread_getname_np(pthread_self(), name, sizeof name);
  };
  ThreadStart how;
  how.name = "some-name";
  for (const int processor : {before.front(), before.back()}) {
    how.processor = processor;
    LibraryThread pinned;
    ASSERT_EQ(pinned.start(how, look, nullptr), 0);
    pinned.join(10 * kSecond);
    EXPECT_EQ(inside, std::vector<int>{processor});
    EXPECT_STREQ(name, "some-name");
    EXPECT_EQ(allowed_processors(), before);
  }
  how.processor = -1;
  LibraryThread free;
  ASSERT_EQ(free.start(how, look, nullptr), 0);
  free.join(10 * kSecond);
  EXPECT_EQ(inside, before);
}

}  // namespace
}  // namespace openlapi
