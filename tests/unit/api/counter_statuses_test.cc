#include "api/context/counter_statuses.h"

#include <gtest/gtest.h>

#include <array>

namespace openlapi {
namespace {

using Outlook = CounterStatuses::Outlook;

class CounterStatusesTest : public testing::Test {
 protected:
  CounterStatusesTest() {
    statuses_.set(&counter_, tasks_, status_.data(), [](uint task) { return task == 9; });
  }

  lapi_cntr_t counter_{};
  lapi_cntr_t other_{};
  std::array<uint, 4> tasks_ = {1, 2, 1, 9};
  std::array<int, 4> status_ = {-1, -1, -1, -1};
  CounterStatuses statuses_;
};

TEST_F(CounterStatusesTest, EveryTaskAnswersAsOftenAsItIsNamed) {
  EXPECT_EQ(status_, (std::array<int, 4>{LAPI_MSG_INITIAL, LAPI_MSG_INITIAL, LAPI_MSG_INITIAL, LAPI_MSG_INVALID}));
  statuses_.counter_moved(&other_, 1);
  statuses_.counter_moved(&counter_, 3);
  EXPECT_EQ(status_[0], LAPI_MSG_INITIAL);
  statuses_.counter_moved(&counter_, 1);
  EXPECT_EQ(status_, (std::array<int, 4>{LAPI_MSG_RECVD, LAPI_MSG_INITIAL, LAPI_MSG_INITIAL, LAPI_MSG_INVALID}));
  statuses_.counter_moved(&counter_, 1);
  statuses_.counter_moved(&counter_, 1);
  EXPECT_EQ(status_, (std::array<int, 4>{LAPI_MSG_RECVD, LAPI_MSG_INITIAL, LAPI_MSG_RECVD, LAPI_MSG_INVALID}));
  EXPECT_EQ(statuses_.awaited(&counter_), std::vector<PeerIndex>{2});
}

TEST_F(CounterStatusesTest, APurgeIsSeenInWhatCameBeforeIt) {
  statuses_.counter_moved(&counter_, 1);
  EXPECT_EQ(statuses_.outlook(&counter_), Outlook::open);
  statuses_.task_purged(1);
  EXPECT_EQ(status_, (std::array<int, 4>{LAPI_MSG_PURGED_RCVD, LAPI_MSG_INITIAL, LAPI_MSG_PURGED, LAPI_MSG_INVALID}));
  EXPECT_EQ(statuses_.outlook(&counter_), Outlook::open) << "2 may still answer";
  statuses_.counter_moved(&counter_, 2);
  EXPECT_EQ(statuses_.outlook(&counter_), Outlook::purged);
}

TEST_F(CounterStatusesTest, ALossEndsTheWaitWhenNobodyElseMayAnswer) {
  statuses_.task_lost(7);
  statuses_.task_lost(1);
  EXPECT_EQ(statuses_.outlook(&counter_), Outlook::open);
  statuses_.counter_moved(&counter_, 2);
  EXPECT_EQ(statuses_.outlook(&counter_), Outlook::lost);
  statuses_.task_purged(1);
  EXPECT_EQ(statuses_.outlook(&counter_), Outlook::purged);
}

TEST_F(CounterStatusesTest, TheArraysAreForgottenWhenNobodyIsAwaited) {
  statuses_.remove_if_answered(&counter_);
  EXPECT_FALSE(statuses_.empty());
  for (const PeerIndex task : {1u, 2u, 1u}) statuses_.counter_moved(&counter_, task);
  EXPECT_EQ(statuses_.outlook(&counter_), Outlook::purged) << "9 can never answer";
  statuses_.remove_if_answered(&counter_);
  EXPECT_TRUE(statuses_.empty());
  EXPECT_EQ(statuses_.outlook(&counter_), Outlook::unknown);
  statuses_.task_purged(1);
  EXPECT_EQ(status_[0], LAPI_MSG_RECVD) << "it is the user's again";
}

}  // namespace
}  // namespace openlapi
