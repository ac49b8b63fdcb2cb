#include "control/job/options/batch_allocation.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>

#include "tests/unit/control/temporary_folder.h"

namespace openlapi {
namespace {

BatchAllocation allocation(std::map<std::string, std::string> variables) {
  return batch_allocation([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(BatchAllocation, IsNoneWithoutANumber) {
  EXPECT_EQ(allocation({}).name, "");
  EXPECT_EQ(allocation({{"SLURM_JOB_ID", ""}, {"SLURM_JOB_NUM_NODES", "4"}}).name, "");
}

TEST(BatchAllocation, OfSlurmSaysHowManyNodes) {
  const BatchAllocation found = allocation({{"SLURM_JOB_ID", "4711"}, {"SLURM_JOB_NUM_NODES", "4"}});
  EXPECT_EQ(found.name, "Slurm job 4711");
  EXPECT_EQ(found.nodes, 4U);
  EXPECT_EQ(found.launcher, "srun --mpi=pmix");
  EXPECT_EQ(allocation({{"SLURM_JOB_ID", "4711"}}).nodes, 0U);
  EXPECT_EQ(allocation({{"SLURM_JOB_ID", "4711"}, {"SLURM_JOB_NUM_NODES", "many"}}).nodes, 0U);
}

TEST(BatchAllocation, OfPbsHasAFileOfPlaces) {
  const test::TemporaryFolder folder;
  folder.write("nodes", "a\na\nb\n\na\n");
  const std::string file = folder.path("nodes");
  const BatchAllocation found = allocation({{"PBS_JOBID", "12.server"}, {"PBS_NODEFILE", file}});
  EXPECT_EQ(found.name, "PBS job 12.server");
  EXPECT_EQ(found.nodes, 2U);
  EXPECT_EQ(found.launcher, "mpirun");
  EXPECT_EQ(allocation({{"PBS_JOBID", "12"}, {"PBS_NODEFILE", file + "-absent"}}).nodes, 0U);
}

TEST(BatchAllocation, IsNotWaitedForWhereItsFileIsNone) {
  const test::TemporaryFolder folder;
  const std::string pipe = folder.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/"), std::string()}) {
    EXPECT_EQ(allocation({{"PBS_JOBID", "12"}, {"PBS_NODEFILE", path}}).nodes, 0U) << path;
  }
}

TEST(BatchAllocation, OfLsfHasPairs) {
  EXPECT_EQ(allocation({{"LSB_JOBID", "7"}, {"LSB_MCPU_HOSTS", "a 4 b 2 c 1 "}}).nodes, 3U);
}

}  // namespace
}  // namespace openlapi
