// Which path is the best one, and when silent ones are probed.
#include "dataplane/paths/path_watch.h"

#include <gtest/gtest.h>

#include "dataplane/tuning.h"

namespace openlapi {
namespace {

constexpr Nanoseconds kFirst = tuning::kFirstProbePause;

TEST(PathWatch, TheFirstPathIsTheBestWhileItServes) {
  PathWatch watch(3);
  EXPECT_EQ(watch.best(), 0u);
  EXPECT_FALSE(watch.any_silent());
  EXPECT_EQ(watch.next_probe(), UINT64_MAX);
  watch.went_silent(0, 100);
  EXPECT_EQ(watch.best(), 1u);
  EXPECT_TRUE(watch.is_silent(0));
  EXPECT_FALSE(watch.is_silent(1));
  watch.went_silent(1, 100);
  EXPECT_EQ(watch.best(), 2u);
  EXPECT_TRUE(watch.answered(0));
  EXPECT_EQ(watch.best(), 0u);
  EXPECT_TRUE(watch.any_silent());
  EXPECT_TRUE(watch.answered(1));
  EXPECT_EQ(watch.best(), 0u);
  EXPECT_FALSE(watch.any_silent());
  EXPECT_FALSE(watch.answered(1)) << "it was not silent";
  EXPECT_EQ(watch.next_probe(), UINT64_MAX);
}

TEST(PathWatch, AnotherPathThatGoesSilentLeavesTheBest) {
  PathWatch watch(2);
  watch.went_silent(1, 0);
  EXPECT_EQ(watch.best(), 0u);
}

TEST(PathWatch, IfAllAreSilentEachIsTriedInTurn) {
  PathWatch watch(3);
  for (unsigned path = 0; path < 3; ++path) watch.went_silent(path, 0);
  EXPECT_EQ(watch.best(), 0u);
  watch.went_silent(0, 10);
  EXPECT_EQ(watch.best(), 1u);
  watch.went_silent(0, 20);
  EXPECT_EQ(watch.best(), 1u) << "only whoever uses it finds that it does not serve";
  watch.went_silent(1, 20);
  EXPECT_EQ(watch.best(), 2u);
  watch.went_silent(2, 30);
  EXPECT_EQ(watch.best(), 0u);
  EXPECT_TRUE(watch.carried_data(2));
  EXPECT_EQ(watch.best(), 2u);
}

TEST(PathWatch, ALinkThatIsSaidToBeDownIsLeftAtOnce) {
  PathWatch watch(2);
  EXPECT_TRUE(watch.link_is_said(0, 1, 100));
  EXPECT_EQ(watch.best(), 1u);
  EXPECT_EQ(watch.next_probe(), 100 + kFirst) << "what was said may be wrong";
  EXPECT_FALSE(watch.link_is_said(0, 1, 200)) << "it is known";
  EXPECT_EQ(watch.next_probe(), 100 + kFirst);
  watch.take_due(100 + kFirst);
  EXPECT_TRUE(watch.answered(0));
  EXPECT_EQ(watch.best(), 0u);
  EXPECT_FALSE(watch.link_is_said(0, 1, 200 + kFirst)) << "it was wrong, and has not changed since";
  EXPECT_EQ(watch.best(), 0u);
}

TEST(PathWatch, ALinkThatIsUpAgainIsProbedAtOnce) {
  PathWatch watch(2);
  watch.link_is_said(0, 1, 0);
  Nanoseconds now = 0;
  for (int i = 0; i < 20; ++i) {
    now = watch.next_probe();
    watch.take_due(now);
  }
  EXPECT_EQ(watch.next_probe(), now + tuning::kLongestProbePause);
  watch.link_is_said(0, 0, now + 10);
  EXPECT_EQ(watch.best(), 1u) << "it has to answer";
  EXPECT_EQ(watch.take_due(now + 10), 1u);
  EXPECT_EQ(watch.next_probe(), now + 10 + kFirst) << "the other end may need a moment";
  watch.link_is_said(0, 0, now + 20);
  EXPECT_EQ(watch.next_probe(), now + 10 + kFirst) << "it is known";
  EXPECT_TRUE(watch.answered(0));
  EXPECT_EQ(watch.best(), 0u);
}

TEST(PathWatch, ALinkThatIsUpSaysNothingOfAPathThatServesOrIsSilentForAnotherReason) {
  PathWatch watch(2);
  watch.link_is_said(0, 0, 0);
  EXPECT_EQ(watch.next_probe(), UINT64_MAX);
  watch.went_silent(0, 0);
  watch.link_is_said(0, 0, 1);
  EXPECT_EQ(watch.next_probe(), kFirst);
  EXPECT_TRUE(watch.is_silent(0));
}

TEST(PathWatch, WhatComesLateDoesNotBringBackALinkThatIsDown) {
  PathWatch watch(2);
  EXPECT_TRUE(watch.link_is_said(0, 1, 0));
  EXPECT_FALSE(watch.carried_data(0)) << "it had arrived before";
  EXPECT_FALSE(watch.answered(0)) << "nothing was asked since";
  EXPECT_EQ(watch.best(), 1u);
  ASSERT_EQ(watch.next_probe(), kFirst);
  EXPECT_EQ(watch.take_due(kFirst), 1u);
  EXPECT_FALSE(watch.carried_data(0));
  EXPECT_TRUE(watch.answered(0)) << "what was said is wrong";
  EXPECT_EQ(watch.best(), 0u);
}

TEST(PathWatch, WhereAllLinksAreDownEachIsTriedInTurn) {
  PathWatch watch(2);
  EXPECT_TRUE(watch.link_is_said(0, 1, 0));
  EXPECT_TRUE(watch.link_is_said(1, 1, 0));
  EXPECT_EQ(watch.best(), 0u);
  watch.went_silent(0, 1);
  EXPECT_EQ(watch.best(), 1u);
  watch.link_is_said(0, 0, 2);
  EXPECT_TRUE(watch.answered(0));
  EXPECT_EQ(watch.best(), 0u);
}

TEST(PathWatch, PausesBetweenProbesDoubleUpToTheLongest) {
  PathWatch watch(2);
  watch.went_silent(0, 1000);
  Nanoseconds at = 1000 + kFirst;
  EXPECT_EQ(watch.next_probe(), at);
  EXPECT_EQ(watch.take_due(at - 1), 0u);
  for (Nanoseconds pause = 2 * kFirst;; pause *= 2) {
    EXPECT_EQ(watch.take_due(at), 1u);
    at += std::min(pause, tuning::kLongestProbePause);
    ASSERT_EQ(watch.next_probe(), at);
    if (pause > 4 * tuning::kLongestProbePause) break;
  }
  watch.went_silent(0, at - 1);
  EXPECT_EQ(watch.next_probe(), at) << "it was silent before";
}

TEST(PathWatch, EachSilentPathIsProbedAtItsTime) {
  PathWatch watch(3);
  watch.went_silent(2, 0);
  watch.went_silent(1, 5);
  EXPECT_EQ(watch.next_probe(), kFirst);
  EXPECT_EQ(watch.take_due(kFirst), 0b100u);
  EXPECT_EQ(watch.next_probe(), kFirst + 5);
  EXPECT_EQ(watch.take_due(kFirst + 5), 0b010u);
  EXPECT_EQ(watch.take_due(3 * kFirst + 5), 0b110u);
}

TEST(PathWatch, WhoOnlyAnswersIsProbedEverMoreRarely) {
  PathWatch watch(2);
  watch.went_silent(0, 0);
  EXPECT_EQ(watch.take_due(kFirst), 1u);
  EXPECT_TRUE(watch.answered(0));
  watch.went_silent(0, 100 * kFirst);
  EXPECT_EQ(watch.next_probe(), 102 * kFirst) << "the pause was doubled";
  EXPECT_TRUE(watch.carried_data(0));
  watch.went_silent(0, 200 * kFirst);
  EXPECT_EQ(watch.next_probe(), 201 * kFirst);
}

// A path that others are preferred to carries no data for long.
TEST(PathWatch, WrongWordOfALinkIsFoundOutSoonHoweverLongThePathWasSilentBefore) {
  PathWatch watch(2);
  watch.went_silent(1, 0);
  Nanoseconds now = 0;
  for (int i = 0; i < 20; ++i) {
    now = watch.next_probe();
    watch.take_due(now);
  }
  EXPECT_TRUE(watch.answered(1));
  EXPECT_TRUE(watch.link_is_said(1, 1, now));
  EXPECT_EQ(watch.next_probe(), now + kFirst);
  EXPECT_EQ(watch.take_due(now + kFirst), 2u);
  EXPECT_TRUE(watch.answered(1));
}

TEST(PathWatch, WordOfALinkLeavesTheProbesOfASilentPathAsTheyAre) {
  PathWatch watch(2);
  watch.went_silent(1, 0);
  EXPECT_EQ(watch.take_due(kFirst), 2u);
  EXPECT_TRUE(watch.link_is_said(1, 1, kFirst + 1));
  EXPECT_EQ(watch.next_probe(), 3 * kFirst);
}

// As where an old row of the network availability matrix was wrong, and then the kernel says that the link is down.
TEST(PathWatch, WhatASecondOneSaysIsNewsAlthoughTheFirstOneWasWrong) {
  constexpr std::uint32_t kFirstOne = 1, kSecondOne = 2;
  PathWatch watch(2);
  EXPECT_TRUE(watch.link_is_said(0, kFirstOne, 0));
  EXPECT_EQ(watch.take_due(kFirst), 1u);
  EXPECT_TRUE(watch.answered(0));
  EXPECT_TRUE(watch.link_is_said(0, kFirstOne | kSecondOne, 10 * kFirst));
  EXPECT_EQ(watch.best(), 1u);
  EXPECT_FALSE(watch.answered(0)) << "nothing was asked since";
  EXPECT_EQ(watch.next_probe(), 11 * kFirst);
  EXPECT_EQ(watch.take_due(11 * kFirst), 1u);
  EXPECT_FALSE(watch.link_is_said(0, kFirstOne, 12 * kFirst));
  EXPECT_EQ(watch.best(), 1u) << "it has to answer";
  EXPECT_EQ(watch.take_due(12 * kFirst), 1u) << "at once, although the first one still says so";
  EXPECT_TRUE(watch.answered(0));
  EXPECT_EQ(watch.best(), 0u);
  EXPECT_FALSE(watch.link_is_said(0, 0, 13 * kFirst));
  EXPECT_EQ(watch.next_probe(), UINT64_MAX) << "it serves";
}

TEST(PathWatch, OneThatLeadsElsewhereIsProbedThoughItServes) {
  PathWatch watch(2);
  watch.leads_elsewhere(1, 100);
  EXPECT_TRUE(watch.is_elsewhere(1) && !watch.is_elsewhere(0));
  EXPECT_EQ(watch.next_probe(), 100 + kFirst);
  EXPECT_EQ(watch.take_due(100 + kFirst), 2u);
  EXPECT_FALSE(watch.carried_data(1));
  EXPECT_EQ(watch.take_due(100 + 3 * kFirst), 2u);
  EXPECT_EQ(watch.next_probe(), 100 + 7 * kFirst) << "what it carries elsewhere says nothing of its home";
  watch.went_silent(1, 200);
  EXPECT_TRUE(watch.answered(1));
  EXPECT_NE(watch.next_probe(), UINT64_MAX);
  watch.leads_home(1);
  EXPECT_FALSE(watch.is_elsewhere(1));
  EXPECT_EQ(watch.next_probe(), UINT64_MAX);
}

// What is said of the adapter that it has led to says nothing of the one that it leads to now.
TEST(PathWatch, WordOfALinkIsOfWhereThePathLeads) {
  PathWatch watch(2);
  EXPECT_TRUE(watch.link_is_said(1, 1, 0));
  watch.leads_elsewhere(1, 10);
  watch.leads_over(1, 0);
  EXPECT_FALSE(watch.is_link_down(1));
  EXPECT_TRUE(watch.carried_data(1)) << "over the link that is up";
  EXPECT_TRUE(watch.link_is_said(1, 1, 20)) << "of that link it is news";
  EXPECT_TRUE(watch.is_silent(1));
}

TEST(PathWatch, APathThatWasLedOverALinkThatIsSaidToBeDownIsBelieved) {
  PathWatch watch(2);
  watch.leads_elsewhere(1, 10);
  watch.leads_over(1, 1);
  EXPECT_FALSE(watch.is_silent(1));
  EXPECT_FALSE(watch.link_is_said(1, 1, 20)) << "it was known";
  EXPECT_FALSE(watch.is_silent(1));
  watch.went_silent(1, 30);
  EXPECT_TRUE(watch.answered(1));
}

TEST(PathWatch, ThatAllAreSilentIsSeen) {
  PathWatch watch(2);
  watch.went_silent(0, 0);
  EXPECT_FALSE(watch.all_silent());
  watch.went_silent(1, 0);
  EXPECT_TRUE(watch.all_silent());
}

}  // namespace
}  // namespace openlapi
