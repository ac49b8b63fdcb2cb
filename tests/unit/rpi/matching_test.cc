#include "api/rpi/lapi/matching.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <list>
#include <random>
#include <vector>

namespace openlapi::rpi {
namespace {

constexpr int kAny = MPI_ANY_SOURCE;
constexpr std::size_t kMany = 10'000;

TEST(Wanted, TakesWhatItNames) {
  const Wanted message{1, 2, 3};
  for (const Wanted& way : ways_to_ask_for(message)) EXPECT_TRUE(way.takes(message));
  EXPECT_FALSE((Wanted{2, kAny, kAny}).takes(message));
  EXPECT_FALSE((Wanted{1, 3, kAny}).takes(message));
  EXPECT_FALSE((Wanted{1, kAny, 2}).takes(message));
}

TEST(PostedList, TheFirstThatTakesAMessageIsFound) {
  PostedList list;
  Posted any_source{{1, kAny, 3}}, exact{{1, 2, 3}}, any_tag{{1, 2, kAny}}, anything{{1}}, other{{2, 2, 3}};
  EXPECT_EQ(list.find({1, 2, 3}), nullptr);
  for (Posted* posted : {&other, &any_source, &exact, &any_tag, &anything}) list.post(*posted);
  EXPECT_EQ(list.find({1, 2, 3}), &any_source);
  EXPECT_EQ(list.find({1, 2, 3}), &any_source) << "it stays";
  EXPECT_EQ(list.find({1, 4, 3}), &any_source);
  EXPECT_EQ(list.find({1, 2, 4}), &any_tag);
  EXPECT_EQ(list.find({1, 4, 4}), &anything);
  EXPECT_EQ(list.find({3, 2, 3}), nullptr);
  list.take_back(any_source);
  EXPECT_EQ(list.find({1, 2, 3}), &exact);
  list.take_back(exact);
  EXPECT_EQ(list.find({1, 2, 3}), &any_tag);
  list.take_back(any_tag);
  EXPECT_EQ(list.find({1, 2, 3}), &anything);
  list.take_back(anything);
  EXPECT_EQ(list.find({1, 2, 3}), nullptr);
  EXPECT_EQ(list.find({2, 2, 3}), &other);
}

TEST(PostedList, WhatIsTakenBackTwiceOrNeverPostedIsNoMatter) {
  PostedList list;
  Posted first{{1, 2, 3}}, second{{1, 2, 3}};
  list.take_back(first);
  list.post(first);
  list.post(second);
  list.take_back(first);
  list.take_back(first);
  EXPECT_EQ(list.find({1, 2, 3}), &second);
  list.post(first);  // again, behind the other
  EXPECT_EQ(list.find({1, 2, 3}), &second);
}

TEST(UnaskedList, TheOldestIsFound) {
  UnaskedList list;
  Unasked first{{1, 2, 3}}, second{{1, 3, 3}}, third{{1, 2, 4}}, negative{{1, 5, -7}};
  for (Unasked* message : {&first, &second, &third, &negative}) list.add(*message);
  EXPECT_EQ(list.find({1, 2, 3}), &first);
  EXPECT_EQ(list.find({1}), &first);
  EXPECT_EQ(list.find({1, kAny, 4}), &third);
  EXPECT_EQ(list.find({1, 3, kAny}), &second);
  EXPECT_EQ(list.find({1, 5, -7}), &negative);
  EXPECT_EQ(list.find({1, 3, 4}), nullptr);
  EXPECT_EQ(list.find({2}), nullptr);
  list.remove(first);
  list.remove(first);
  EXPECT_EQ(list.find({1}), &second);
  EXPECT_EQ(list.find({1, 2, kAny}), &third);
  EXPECT_EQ(list.find({1, 2, 3}), nullptr);
}

// The n-th of many patterns, or always the same one.
Wanted nth(std::size_t n, bool alike) {
  return alike ? Wanted{1, 2, 3} : Wanted{1, static_cast<int>(n % 97), static_cast<int>(n)};
}

class Many : public testing::TestWithParam<bool> {};

TEST_P(Many, PostedReceivesCostAMessageNoMore) {
  PostedList list;
  std::vector<Posted> receives(kMany);
  for (std::size_t n = 0; n < kMany; ++n) list.post(receives[n] = Posted{nth(n, GetParam())});
  Posted wildcards[] = {{{1, kAny, 1 << 20}}, {{1, 200, kAny}}, {{2}}};
  for (Posted& posted : wildcards) list.post(posted);
  for (std::size_t n = 0; n < kMany; ++n) {
    Posted* found = list.find(nth(n, GetParam()));
    ASSERT_EQ(found, &receives[n]);
    list.take_back(*found);
  }
  EXPECT_LE(list.steps(), kWaysToAsk * kMany);
}

TEST_P(Many, UnaskedMessagesCostAReceiveNoMore) {
  UnaskedList list;
  std::vector<Unasked> messages(kMany);
  for (std::size_t n = 0; n < kMany; ++n) list.add(messages[n] = Unasked{nth(n, GetParam())});
  // The last first where they differ: nothing is passed by on the way.
  for (std::size_t n = 0; n < kMany; ++n) {
    const std::size_t which = GetParam() ? n : kMany - 1 - n;
    Unasked* found = list.find(nth(which, GetParam()));
    ASSERT_EQ(found, &messages[which]);
    list.remove(*found);
  }
  EXPECT_EQ(list.steps(), kMany);
}

INSTANTIATE_TEST_SUITE_P(Patterns, Many, testing::Bool(),
                         [](const auto& alike) { return alike.param ? "AllAlike" : "AllDifferent"; });

TEST(PostedList, AReceiveThatComesAgainIsLookedForInOnePlace) {
  PostedList list;
  Posted wildcard{{1, kAny, 3}}, other{{2, 2, 3}};
  for (int turn = 0; turn < 3; ++turn) {
    list.post(wildcard);
    EXPECT_EQ(list.find({1, 2, 3}), &wildcard);
    EXPECT_EQ(list.find({1, 2, 4}), nullptr);
    list.take_back(wildcard);
    EXPECT_EQ(list.find({1, 2, 3}), nullptr) << "nobody asks";
  }
  EXPECT_EQ(list.steps(), 6U);
  list.post(other);
  EXPECT_EQ(list.find({1, 2, 3}), nullptr);
  list.post(wildcard);
  EXPECT_EQ(list.find({2, 2, 3}), &other);
  EXPECT_EQ(list.find({1, 2, 3}), &wildcard);
}

TEST(PostedList, NobodyLooksForWildcardsThatNobodyUses) {
  PostedList list;
  Posted exact{{1, 2, 3}}, wildcard{{1, 2, kAny}};
  list.post(exact);
  list.find({1, 2, 3});
  EXPECT_EQ(list.steps(), 1U);
  list.post(wildcard);
  list.find({1, 2, 3});
  EXPECT_EQ(list.steps(), 3U);
  list.take_back(wildcard);
  list.find({1, 2, 3});
  EXPECT_EQ(list.steps(), 4U);
}

// Against the plain way: one list, searched from the front.
template <class Item>
Item* first_of(std::list<Item*>& plain, auto&& matches) {
  const auto found = std::ranges::find_if(plain, matches);
  return found == plain.end() ? nullptr : *found;
}

TEST(Matching, IsThatOfPlainLists) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
    std::deque<Posted> receives;
    std::deque<Unasked> messages;
    PostedList posted;
    UnaskedList unasked;
    std::list<Posted*> plain_posted;
    std::list<Unasked*> plain_unasked;
    for (int step = 0; step < 2'000; ++step) {
      const Wanted message{below(2), below(3), below(3)};
      const Wanted wanted{message.context, below(3) ? message.rank : kAny, below(3) ? message.tag : kAny};
      switch (below(4)) {
        case 0:
          posted.post(receives.emplace_back(Posted{wanted}));
          plain_posted.push_back(&receives.back());
          break;
        case 1:
          unasked.add(messages.emplace_back(Unasked{message})), plain_unasked.push_back(&messages.back());
          break;
        case 2: {
          Posted* found = posted.find(message);
          ASSERT_EQ(found, first_of(plain_posted, [&](Posted* each) { return each->wanted.takes(message); })) << seed;
          if (found != nullptr) posted.take_back(*found), plain_posted.remove(found);
          break;
        }
        default: {
          Unasked* found = unasked.find(wanted);
          ASSERT_EQ(found, first_of(plain_unasked, [&](Unasked* each) { return wanted.takes(each->wanted); })) << seed;
          if (found != nullptr) unasked.remove(*found), plain_unasked.remove(found);
        }
      }
    }
  }
}

}  // namespace
}  // namespace openlapi::rpi
