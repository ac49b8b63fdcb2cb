#include "control/job/node/binding_plan.h"

#include <gtest/gtest.h>

namespace openlapi {
namespace {

using Processors = std::vector<std::vector<unsigned>>;

Processors plan(const std::vector<Core>& cores, std::size_t tasks) {
  Processors processors;
  for (const TaskBinding& binding : plan_bindings(cores, tasks)) processors.push_back(binding.processors);
  return processors;
}

// Two cores of two hardware threads each, numbered as Linux often does.
const std::vector<Core> kTwoByTwo{{0, {0, 2}}, {1, {1, 3}}};

TEST(BindingPlan, GivesEachTaskACoreWithAllItsThreads) { EXPECT_EQ(plan(kTwoByTwo, 2), (Processors{{0, 2}, {1, 3}})); }

TEST(BindingPlan, LeavesCoresFree) { EXPECT_EQ(plan(kTwoByTwo, 1), (Processors{{0, 2}})); }

TEST(BindingPlan, GoesRoundTheCoresWithMoreTasksThanCores) {
  EXPECT_EQ(plan(kTwoByTwo, 3), (Processors{{0}, {1}, {2}}));
  EXPECT_EQ(plan(kTwoByTwo, 4), (Processors{{0}, {1}, {2}, {3}}));
}

TEST(BindingPlan, BindsNobodyWithMoreTasksThanThreads) { EXPECT_EQ(plan(kTwoByTwo, 5), Processors(5)); }

TEST(BindingPlan, TakesUnequalCores) {
  EXPECT_EQ(plan({{3, {7}}, {5, {8, 9, 10}}}, 4), (Processors{{7}, {8}, {9}, {10}}));
}

TEST(BindingPlan, BindsNobodyWhenNothingIsKnown) { EXPECT_EQ(plan({}, 2), Processors(2)); }

TEST(BindingPlan, KeepsTheCoresNumber) {
  const auto bindings = plan_bindings({{4, {1}}, {6, {2}}}, 2);
  EXPECT_EQ(bindings[1].core, 6U);
}

TEST(BindingPlan, DescribesItself) {
  EXPECT_EQ(describe({1, {2, 3}}), "core 1 (processors 2,3)");
  EXPECT_EQ(describe({0, {5}}), "core 0 (processor 5)");
  EXPECT_EQ(describe({}), "not bound");
}

}  // namespace
}  // namespace openlapi
