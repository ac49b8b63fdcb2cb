// What LAPI_Init makes of the variables for dataplane threads.
#include "api/wiring/thread_plan.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <vector>

#include "dataplane/poller/machine_cores.h"

namespace openlapi {
namespace {

ThreadPlan planned(const Settings& settings, ThreadNumber number = {}, bool placed = false) {
  ThreadPlan plan;
  OpenFailure error;
  EXPECT_TRUE(plan_thread({settings, number, placed, {}}, plan, error)) << error.text;
  return plan;
}

TEST(ThreadPlan, SpinsShorterWhereTasksShareCores) {
  EXPECT_EQ(planned({}, {0, 1000, 1}).poller.pacing.spin, kSharedCoreSpin);
  Settings spin;
  spin.thread_policy = ThreadPolicy::spin;
  EXPECT_EQ(planned(spin).poller.pacing.policy, ThreadPolicy::spin);
  EXPECT_TRUE(planned(spin, {0, 1000, 1}).poller.pacing.shares_core);
  const bool alone = allowed_processors().size() >= 2;
  EXPECT_EQ(planned(spin).poller.pacing.shares_core, !alone);
  EXPECT_EQ(planned({}).poller.pacing.spin, alone ? kOwnCoreSpin : kSharedCoreSpin);
}

TEST(ThreadPlan, NobodyIsPinnedUnaskedWithoutANetwork) {
  EXPECT_EQ(planned({}).placement.processor, -1);
  EXPECT_NE(planned({}, {0, 1000, 1}).placement.reason.find("fewer than two cores"), std::string::npos);
  EXPECT_NE(planned({}, {}, true).placement.reason.find("attributes"), std::string::npos);
  Settings none;
  none.thread_place = ThreadPlace::kNone;
  EXPECT_EQ(planned(none).placement.reason, "OPENLAPI_THREAD_CPU=none");
}

TEST(ThreadPlan, ListedProcessorsMustBeAllowed) {
  const std::vector<int> allowed = allowed_processors();
  Settings listed;
  listed.thread_place = ThreadPlace::kListed;
  listed.thread_processors = {allowed.back(), 1023};
  const ThreadPlan first = planned(listed, {0, 2, 1}, true);
  EXPECT_EQ(first.placement.processor, allowed.back());
  EXPECT_NE(describe(first).find("pinned to processor " + std::to_string(allowed.back())), std::string::npos);
  ThreadPlan plan;
  OpenFailure error;
  EXPECT_FALSE(plan_thread({listed, {1, 2, 1}, false, {}}, plan, error));
  EXPECT_EQ(error.kind, FailureKind::setting);
  for (const std::string& part :
       {std::string("OPENLAPI_THREAD_CPU"), std::string("1023"), std::string("near, none"), to_ranges(allowed)}) {
    EXPECT_NE(error.text.find(part), std::string::npos) << error.text;
  }
}

// As lapirun does it without being asked.
TEST(ThreadPlan, SaysWhoBindsATaskToOtherProcessors) {
  const std::vector<int> allowed = allowed_processors();
  if (allowed.size() < 2) GTEST_SKIP() << "one processor";
  cpu_set_t before, bound;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&bound);
  CPU_SET(allowed.front(), &bound);
  ASSERT_EQ(sched_setaffinity(0, sizeof bound, &bound), 0);
  Settings listed;
  listed.thread_place = ThreadPlace::kListed;
  ThreadPlan plan;
  OpenFailure elsewhere, nowhere;
  listed.thread_processors = {allowed.back()};
  EXPECT_FALSE(plan_thread({listed, {}, false, {}}, plan, elsewhere));
  listed.thread_processors = {1023};
  EXPECT_FALSE(plan_thread({listed, {}, false, {}}, plan, nowhere));
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_NE(elsewhere.text.find("this task is bound to others than processor " + std::to_string(allowed.back())),
            std::string::npos)
      << elsewhere.text;
  EXPECT_NE(elsewhere.text.find("--bind none"), std::string::npos) << elsewhere.text;
  EXPECT_NE(nowhere.text.find("this machine has no processor 1023"), std::string::npos) << nowhere.text;
  EXPECT_EQ(nowhere.text.find("--bind"), std::string::npos) << nowhere.text;
}

TEST(ThreadPlan, IsDescribedInOneLine) {
  Settings settings;
  settings.thread_place = ThreadPlace::kNone;
  settings.thread_policy = ThreadPolicy::sleep;
  EXPECT_EQ(describe(planned(settings)), "sleep, not pinned: OPENLAPI_THREAD_CPU=none");
  settings.thread_policy = ThreadPolicy::spin;
  EXPECT_EQ(describe(planned(settings, {0, 1000, 1})),
            "spin (yields, it shares its core), not pinned: OPENLAPI_THREAD_CPU=none");
  settings.thread_policy = ThreadPolicy::adaptive;
  EXPECT_EQ(describe(planned(settings, {0, 1000, 1})),
            "adaptive (polls up to 20 us, then sleeps), not pinned: OPENLAPI_THREAD_CPU=none");
}

}  // namespace
}  // namespace openlapi
