// A transport may need seconds to find out whether it can serve a peer; until then the paths are undecided.
#include <gtest/gtest.h>

#include <memory>

#include "tests/unit/api/two_adapters.h"

namespace openlapi {
namespace {

// Adapters of the first kind, and one that is used where no other one leads to the task.
class StillLookedFor : public testing::Test {
 protected:
  using Answer = RecordingTransport::Answer;

  StillLookedFor() {
    adapters_.networks[1].keys = "others.";
    adapters_.networks[1].number = 0;
    adapters_.networks[1].is_last_resort = true;
    adapters_.publish({"first"}, false);
    adapters_.tasks->published["others.0"] = published_address("last", false, 1);
    adapters_.transports[0].answer = Answer::not_yet;
    routes_ = std::make_unique<ContextRoutes>(adapters_.tasks, ContextRoutes::SharedMemory{}, std::span<const int>{},
                                              adapters_.networks, 0);
    testing::internal::CaptureStderr();
    for (int i = 0; i != 3; ++i) {
      const Route route = routes_->resolve(1);
      EXPECT_TRUE(route.undecided);
      EXPECT_EQ(route.count, 0u);
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "nothing is known yet";
    EXPECT_TRUE(adapters_.transports[1].addresses.empty());
    EXPECT_EQ(adapters_.tasks->asked, 1) << "others may have had to fetch it";
  }

  TwoAdapters adapters_;
  std::unique_ptr<ContextRoutes> routes_;
};

TEST_F(StillLookedFor, IsReachedOnceItIsFound) {
  adapters_.transports[0].answer = Answer::yes;
  const Route route = routes_->resolve(1);
  EXPECT_FALSE(route.undecided);
  ASSERT_EQ(route.count, 1u);
  EXPECT_EQ(route.paths[0], &adapters_.transports[0]);
  EXPECT_EQ(adapters_.tasks->asked, 1);
  routes_->resolve(1);
  EXPECT_EQ(adapters_.tasks->asked, 2) << "it may be elsewhere by then";
}

TEST_F(StillLookedFor, IsReachedOtherwiseIfItIsNotFound) {
  adapters_.transports[0].answer = Answer::no;
  const Route route = routes_->resolve(1);
  EXPECT_FALSE(route.undecided);
  ASSERT_EQ(route.count, 1u);
  EXPECT_EQ(route.paths[0], &adapters_.transports[1]);
}

TEST_F(StillLookedFor, IsOutOfReachIfNothingLeadsThere) {
  for (RecordingTransport& transport : adapters_.transports) transport.answer = Answer::no;
  testing::internal::CaptureStderr();
  EXPECT_EQ(routes_->resolve(1).count, 0u);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("has no way to task 1"), std::string::npos);
}

// Of two adapters of one kind the one that is reached already is not looked for again with each look for the other one.
TEST(StillLookedForOverOne, OfTwoAdaptersTheOtherOneIsAddedOnce) {
  TwoAdapters adapters;
  adapters.publish({"first", "second"}, false);
  adapters.transports[1].answer = RecordingTransport::Answer::not_yet;
  ContextRoutes routes(adapters.tasks, ContextRoutes::SharedMemory{}, std::span<const int>{}, adapters.networks, 0);
  for (int i = 0; i != 3; ++i) EXPECT_TRUE(routes.resolve(1).undecided);
  EXPECT_EQ(adapters.transports[0].added, 1);
  adapters.transports[1].answer = RecordingTransport::Answer::yes;
  EXPECT_EQ(routes.resolve(1).count, 2u);
  EXPECT_EQ(adapters.transports[0].added, 1);
  EXPECT_EQ(routes.resolve(1).count, 2u);
  EXPECT_EQ(adapters.transports[0].added, 2) << "it may be elsewhere by then";
}

// Numbers of its transports that a search has used are those of its own task alone, also where the task is none of the
// job's: another search must not take them for what it has added itself.
TEST(StillLookedForOverOne, ATaskOutsideTheJobIsAddedAnewWithEachSearch) {
  TwoAdapters adapters;
  adapters.publish({"first", "second"}, false);
  ContextRoutes routes(adapters.tasks, ContextRoutes::SharedMemory{}, std::span<const int>{}, adapters.networks, 0);
  for (int searches = 1; searches != 4; ++searches) {
    EXPECT_EQ(routes.resolve(2).count, 2u);
    EXPECT_EQ(adapters.transports[0].added, searches);
  }
}

}  // namespace
}  // namespace openlapi
