#include "control/job/node/task_environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace openlapi {
namespace {

const char* const kInherited[] = {"PATH=/bin",
                                  "A=1",
                                  "B=x=y",
                                  "PMIX_RANK=3",
                                  "PMIX_NAMESPACE=other",
                                  "PMIX_MCA_gds=hash",
                                  "PMI_SIZE=2",
                                  "broken",
                                  "LAPIRUN_TASK_PAGE=/x:1",
                                  nullptr};

TEST(TaskEnvironment, PassesEverythingOnButAnotherJobsIdentity) {
  const TaskEnvironment environment(kInherited);
  EXPECT_EQ(environment.entries(), (std::vector<std::string>{"A=1", "B=x=y", "PATH=/bin", "PMIX_MCA_gds=hash"}));
}

TEST(TaskEnvironment, SetsAndChecksVariables) {
  TaskEnvironment environment(kInherited);
  EXPECT_TRUE(environment.apply("A"));
  EXPECT_FALSE(environment.apply("C"));
  EXPECT_TRUE(environment.apply("A=2=3"));
  EXPECT_EQ(environment.get("A"), "2=3");
  EXPECT_TRUE(environment.apply("C="));
  EXPECT_EQ(environment.get("C"), "");
}

TEST(TaskEnvironment, KeepsTheUsersValueOfADefault) {
  TaskEnvironment environment(kInherited);
  environment.set_default("A", "other");
  environment.set_default("D", "new");
  EXPECT_EQ(environment.get("A"), "1");
  EXPECT_EQ(environment.get("D"), "new");
}

TEST(TaskEnvironment, GovernsAPmixServerInThisProcess) {
  setenv("PMIX_RANK", "3", 1);
  setenv("PMIX_MCA_gds", "own", 1);
  setenv("PMIX_MCA_kept", "yes", 1);
  unsetenv("A");
  TaskEnvironment(kInherited).apply_to_pmix_server();
  EXPECT_EQ(std::getenv("PMIX_RANK"), nullptr);
  EXPECT_STREQ(std::getenv("PMIX_MCA_gds"), "hash");
  EXPECT_STREQ(std::getenv("PMIX_MCA_kept"), "yes");
  EXPECT_EQ(std::getenv("A"), nullptr);
  unsetenv("PMIX_MCA_gds");
  unsetenv("PMIX_MCA_kept");
}

TEST(StandaloneVariables, SayWhoTheTaskIsAndWhoIsOnItsNode) {
  EXPECT_EQ(standalone_variables(1, 3, "secret"),
            (std::vector<std::string>{"MP_CHILD=1", "MP_COMMON_TASKS=2:0:2", "MP_PARTITION=secret", "MP_PROCS=3"}));
  EXPECT_EQ(standalone_variables(0, 1, "x"),
            (std::vector<std::string>{"MP_CHILD=0", "MP_COMMON_TASKS=0", "MP_PARTITION=x", "MP_PROCS=1"}));
}

}  // namespace
}  // namespace openlapi
