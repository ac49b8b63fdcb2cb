#include "control/boot/modules/slurm_allocation.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "control/boot/errors/boot_error.h"

namespace openlapi::boot {
namespace {

std::vector<int> counts(const char* text, std::size_t count) {
  return slurm_counts(text, "SLURM_TASKS_PER_NODE", count);
}

TEST(SlurmCounts, AreRepeatedAsOftenAsTheyAreOfNodes) {
  EXPECT_EQ(counts("2", 1), std::vector<int>({2}));
  EXPECT_EQ(counts("4(x3)", 3), std::vector<int>({4, 4, 4}));
  EXPECT_EQ(counts("2(x3),1", 4), std::vector<int>({2, 2, 2, 1}));
  EXPECT_EQ(counts("1,16(x2),3", 4), std::vector<int>({1, 16, 16, 3}));
}

TEST(SlurmCounts, MistakesNameTheVariableTheValueAndWhatIsAllowed) {
  for (const char* text : {"", "0", "-1", "2(x2)", "2(x4)", "2(x3),", "2,2,2,", "2(x0),2,2,2", "2(x", "2(x3", "2(y3)",
                           "x", "2(x3)1", "2,,2", "2(x99999999999999999999)"}) {
    try {
      counts(text, 3);
      if (std::string(text) != "2(x3)") ADD_FAILURE() << "no error for " << text;
    } catch (const BootError& error) {
      EXPECT_EQ(std::string(error.what()), "SLURM_TASKS_PER_NODE is \"" + std::string(text) +
                                               "\"; allowed: numbers for 3 nodes, for example 2(x3),1");
    }
  }
}

TEST(SlurmAllocation, IsThereWhenBothVariablesAre) {
  for (const char* name : {"SLURM_JOB_ID", "SLURM_JOBID", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}) unsetenv(name);
  EXPECT_EQ(why_no_slurm_allocation(), "SLURM_JOB_ID is not set");
  setenv("SLURM_JOB_ID", "17", 1);
  EXPECT_EQ(why_no_slurm_allocation(), "SLURM_JOB_NODELIST is not set");
  setenv("SLURM_NODELIST", "inky", 1);  // its name before Slurm 2
  EXPECT_EQ(why_no_slurm_allocation(), "");
  for (const char* name : {"SLURM_JOB_ID", "SLURM_NODELIST"}) unsetenv(name);
}

TEST(SlurmAllocation, RunsOnceOnTheHostBesideTheJob) {
  const std::vector<std::string> words = srun_words("inky");
  EXPECT_EQ(words.front(), "srun");
  EXPECT_EQ(words.back(), "--nodelist=inky");
}

}  // namespace
}  // namespace openlapi::boot
