#include "dataplane/paths/path_teller.h"

#include <gtest/gtest.h>

#include "dataplane/tuning.h"

namespace openlapi {
namespace {

constexpr Nanoseconds kPause = tuning::kFirstProbePause;

// Path 0 of two has gone silent; path 1 serves.
class PathTelling : public testing::Test {
 protected:
  PathTelling() { teller_.went_silent(0, now_, now_ - kPause); }
  void probe_after(Nanoseconds time) { teller_.probed(1, now_ += time); }
  void answer_after(Nanoseconds time, unsigned over = 1) { teller_.answered(over, now_ += time); }
  // While nothing is under way.
  void lose_link() {
    teller_.serves(0, PathCause::answered, now_);
    teller_.went_silent(0, now_, UINT64_MAX);
    teller_.lost_link(0, now_);
  }
  bool tells() { return teller_.take(now_).has_value(); }

  PathTeller teller_{2};
  Nanoseconds now_ = kSecond;
};

TEST_F(PathTelling, ATimeOutAloneIsNoFailure) {
  EXPECT_EQ(teller_.silent_since(0), now_);
  EXPECT_EQ(teller_.due(), UINT64_MAX);
  answer_after(1);
  probe_after(kPause);
  EXPECT_FALSE(tells()) << "answered before it was asked";
}

TEST_F(PathTelling, OnlyAFailureTakesAPathFromMessages) {
  EXPECT_FALSE(teller_.has_failed(0)) << "silent, and tried";
  EXPECT_FALSE(teller_.has_failed(1));
  probe_after(kPause);
  answer_after(kPause);
  EXPECT_FALSE(teller_.has_failed(0));
  probe_after(kPause);
  EXPECT_TRUE(teller_.has_failed(0));
  teller_.serves(0, PathCause::answered, now_);
  EXPECT_FALSE(teller_.has_failed(0));
  EXPECT_EQ(teller_.failures(0), 1u);
  lose_link();
  EXPECT_TRUE(teller_.has_failed(0));
  teller_.begin_anew();
  EXPECT_EQ(teller_.failures(0), 2u) << "so far";
  EXPECT_EQ(teller_.failures(1), 0u);
}

TEST_F(PathTelling, AProbeThatStaysUnansweredIsOneIfAnotherIsAnswered) {
  probe_after(kPause);
  answer_after(kPause);
  probe_after(kPause);
  const auto change = teller_.take(now_);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->path, 0u);
  EXPECT_EQ(change->cause, PathCause::no_answer);
  EXPECT_EQ(change->waited, 3 * kPause);
  EXPECT_EQ(change->idle, 4 * kPause);
  probe_after(kPause);
  EXPECT_FALSE(tells()) << "once";
}

// One change waits to be told, but somebody else may be asked of every path.
TEST_F(PathTelling, EachOfSeveralPathsThatFailAtOnceIsNamed) {
  PathTeller teller(4);
  for (const unsigned path : {0u, 1u, 2u}) teller.went_silent(path, now_, now_);
  teller.lost_link(2, now_);
  EXPECT_EQ(teller.probed(7, now_), 0u) << "of a link somebody has told";
  teller.answered(3, now_);
  now_ += kPause;
  EXPECT_EQ(teller.probed(7, now_), 3u);
  teller.answered(3, now_);
  now_ += kPause;
  EXPECT_EQ(teller.probed(7, now_), 0u) << "once";
}

TEST_F(PathTelling, OnlyAnswersSayThatThePeerAnswers) {
  for (int i = 0; i < 5; ++i) {
    probe_after(kPause);
    now_ += kPause;
    teller_.heard(now_, now_);
  }
  EXPECT_FALSE(tells());
}

TEST_F(PathTelling, WhatBringsSomethingElseIsAliveForAWhile) {
  teller_.is_alive(0, now_ + 4 * kPause);
  probe_after(kPause);
  answer_after(kPause);
  probe_after(kPause);
  EXPECT_FALSE(teller_.has_failed(0)) << "the answer may wait behind it";
  answer_after(1);
  probe_after(kPause);
  EXPECT_TRUE(teller_.has_failed(0));
}

TEST_F(PathTelling, AnswersMayComeOneBehindTheOther) {
  probe_after(kPause);
  answer_after(kPause);
  probe_after(kPause - 1);
  EXPECT_FALSE(tells());
}

TEST_F(PathTelling, WhatComesOverThePathItselfSaysNothingOfIt) {
  for (int i = 0; i < 5; ++i) {
    probe_after(kPause);
    answer_after(kPause, 0);
  }
  EXPECT_FALSE(tells());
}

TEST_F(PathTelling, ItSaysHowLongNothingMoved) {
  now_ += 7;
  teller_.heard(now_, kSecond - kPause);
  now_ += 7;
  teller_.heard(now_, now_);
  const Nanoseconds moved = now_;
  answer_after(kPause);
  probe_after(kPause);
  answer_after(kPause);
  probe_after(kPause);
  const auto change = teller_.take(now_);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->idle, moved - (kSecond - kPause));
}

TEST_F(PathTelling, ALostLinkIsToldWhenSomethingMovesAgainAndItsEndToo) {
  teller_.lost_link(0, now_);
  EXPECT_FALSE(tells());
  now_ += 5;
  teller_.heard(now_, now_);
  const auto change = teller_.take(now_);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->cause, PathCause::link_down);
  EXPECT_EQ(change->idle, kPause + 5);
  now_ = kSecond + 2 * tuning::kPathChangePause;
  teller_.serves(0, PathCause::answered, now_);
  EXPECT_EQ(teller_.silent_since(0), 0u);
  const auto end = teller_.take(now_);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->cause, PathCause::answered);
  EXPECT_EQ(end->waited, 2 * tuning::kPathChangePause);
}

TEST_F(PathTelling, ALostLinkIsToldAtOnceWhileNothingIsUnderWay) {
  teller_.went_silent(1, now_, UINT64_MAX);
  teller_.lost_link(1, now_);
  const auto change = teller_.take(now_);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->path, 1u);
  EXPECT_EQ(change->cause, PathCause::link_down);
  EXPECT_EQ(change->idle, 0u);
}

TEST_F(PathTelling, ALostLinkIsToldWithTheNextProbe) {
  teller_.lost_link(0, now_);
  probe_after(kPause);
  const auto change = teller_.take(now_);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->cause, PathCause::link_down);
  EXPECT_EQ(change->idle, 2 * kPause);
  probe_after(kPause);
  EXPECT_FALSE(tells()) << "once";
}

TEST_F(PathTelling, TheEndOfASilenceThatWasNoFailureIsNotTold) {
  teller_.serves(0, PathCause::answered, now_ + 1);
  EXPECT_EQ(teller_.due(), UINT64_MAX);
}

TEST_F(PathTelling, TheLatestChangeWaitsAndTheOthersAreCounted) {
  lose_link();
  EXPECT_TRUE(tells());
  for (int i = 0; i < 3; ++i) {
    teller_.serves(0, PathCause::carried_data, now_ += 10);
    now_ += 10;
    lose_link();
  }
  EXPECT_FALSE(tells());
  EXPECT_EQ(teller_.due(), kSecond + tuning::kPathChangePause);
  now_ = teller_.due();
  const auto change = teller_.take(now_);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->cause, PathCause::link_down);
  EXPECT_EQ(change->untold, 5u);
  EXPECT_EQ(teller_.due(), UINT64_MAX);
}

TEST_F(PathTelling, WhatIsForgottenIsNotTold) {
  lose_link();
  teller_.forget(0);
  EXPECT_FALSE(tells());
  EXPECT_EQ(teller_.silent_since(0), 0u);
}

TEST_F(PathTelling, WhatIsToBeToldOfAPathThatServesIsNotForgotten) {
  lose_link();
  EXPECT_TRUE(tells());
  teller_.serves(0, PathCause::answered, now_);
  teller_.forget(0);
  now_ = teller_.due();
  EXPECT_TRUE(tells());
}

TEST_F(PathTelling, OfAPeerThatBeginsAnewOnlyLostLinksAreKnown) {
  teller_.went_silent(1, now_, UINT64_MAX);
  teller_.lost_link(1, now_);
  EXPECT_TRUE(tells());
  teller_.begin_anew();
  EXPECT_EQ(teller_.silent_since(0), 0u);
  EXPECT_TRUE(teller_.has_failed(1));
  teller_.went_silent(1, now_, UINT64_MAX);
  teller_.lost_link(1, now_);
  EXPECT_EQ(teller_.due(), UINT64_MAX) << "that was told";
  EXPECT_EQ(teller_.failures(1), 1u);
}

}  // namespace
}  // namespace openlapi
