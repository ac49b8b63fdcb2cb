#include "api/wiring/mpi_library.h"

#include <gtest/gtest.h>

#include <map>

namespace openlapi {
namespace {

const std::string kMpich = "MPICH Version:\t4.0.2\nMPICH configure:\t--with-slurm=/usr\n";
const std::string kMpichOverPmix = "MPICH Version:\t4.2\nMPICH configure:\t--with-pmi=pmix\n";
const std::string kOpenMpi = "Open MPI v4.1.4, package: Debian OpenMPI";

class JobOfSize final : public Bootstrap {
 public:
  JobOfSize(std::string_view name, std::uint32_t size) : name_(name), size_(size) {}

  std::string_view name() const override { return name_; }
  std::uint32_t task() const override { return 0; }
  std::uint32_t size() const override { return size_; }
  const std::vector<std::uint32_t>& local_tasks() const override { return local_; }
  std::uint64_t job_cookie() const override { return 1; }
  bool can_exchange() const override { return false; }
  bool put(std::string_view, std::span<const std::byte>, std::string&) override { return false; }
  bool exchange(std::string&) override { return false; }
  bool get(std::uint32_t, std::string_view, unsigned, std::vector<std::byte>&, std::string&) override { return false; }
  bool barrier(std::string&) override { return false; }
  void abort(int, std::string_view) override {}

 private:
  std::string_view name_;
  std::uint32_t size_;
  std::vector<std::uint32_t> local_{0};
};

// Why the library does not fit; empty: it does.
std::string refusal(const std::string& library, const JobOfSize& job,
                    std::map<std::string, std::string> variables = {}) {
  const auto read = [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  std::string reason;
  const bool fits = mpi_is_in_the_job(library, job, read, reason);
  EXPECT_EQ(fits, reason.empty());
  return reason;
}

TEST(ContextMpi, FitsWhereItAsksTheSameLauncher) {
  EXPECT_EQ(refusal("", JobOfSize("standalone", 2)), "");
  EXPECT_EQ(refusal(kOpenMpi, JobOfSize("pmix", 2)), "");
  EXPECT_EQ(refusal(kMpichOverPmix, JobOfSize("pmix", 2)), "");
  EXPECT_EQ(refusal(kMpich, JobOfSize("standalone", 2), {{"PMI_SIZE", "2"}}), "");
}

TEST(ContextMpi, FitsAJobOfOneTask) {
  for (const std::string& library : {kMpich, kMpichOverPmix, kOpenMpi}) {
    EXPECT_EQ(refusal(library, JobOfSize("pmix", 1)), "");
    EXPECT_EQ(refusal(library, JobOfSize("standalone", 1)), "");
  }
}

TEST(ContextMpi, SaysBothSizesAndWhatToUse) {
  EXPECT_EQ(refusal(kMpich, JobOfSize("pmix", 2)),
            "the program also has an MPI library, MPICH Version:\t4.0.2, which does not join this job: MPI_COMM_WORLD "
            "would have 1 task, the job has 2; use Open MPI, or start the tasks with that library's mpiexec as in "
            "lapi(7)");
  EXPECT_NE(refusal(kMpich, JobOfSize("pmix", 2), {{"PMI_SIZE", "4"}}), "");
  EXPECT_EQ(refusal(kOpenMpi, JobOfSize("standalone", 3)),
            "the program also has an MPI library, Open MPI v4.1.4, which does not join this job: MPI_COMM_WORLD would "
            "have 1 task, the job has 3; start the tasks with lapirun without --standalone, mpirun or srun --mpi=pmix");
}

TEST(ContextMpi, WhatIsMadeOfMpichAsksAsItDoes) {
  for (const char* library : {"Intel(R) MPI Library 2021.10 for Linux* OS\n", "MVAPICH2 Version      :\t2.3.7\n",
                              "MPI VERSION    : CRAY MPICH version 8.1.28.2 (ANL base 3.4a2)\n"}) {
    EXPECT_NE(refusal(library, JobOfSize("pmix", 2)), "") << library;
    EXPECT_EQ(refusal(library, JobOfSize("standalone", 2), {{"PMI_SIZE", "2"}}), "") << library;
    EXPECT_EQ(refusal(library, JobOfSize("pmix", 1)), "") << library;
  }
}

TEST(ContextMpi, WhatIsMadeOfOpenMpiIsInTheJobAsItIs) {
  for (const char* library : {"FUJITSU MPI Library 4.0.0 (4.0.1fj4.0.0)", "Another MPI 1.0"}) {
    EXPECT_EQ(refusal(library, JobOfSize("pmix", 2)), "") << library;
    EXPECT_NE(refusal(library, JobOfSize("standalone", 2)), "") << library;
  }
}

TEST(ContextMpi, TakesIntelsToAskPmixWhereItIsToldTo) {
  const std::string intels = "Intel(R) MPI Library 2021.10 for Linux* OS\n";
  EXPECT_EQ(refusal(intels, JobOfSize("pmix", 2), {{"I_MPI_PMI", "pmix"}}), "");
  EXPECT_NE(refusal(intels, JobOfSize("standalone", 2), {{"I_MPI_PMI", "pmix"}}), "");
  EXPECT_NE(refusal(intels, JobOfSize("pmix", 2), {{"I_MPI_PMI", "pmi2"}}), "");
}

TEST(ContextMpi, SeesThatOpenMpiHasBecomeTheLauncher) {
  EXPECT_NE(refusal(kOpenMpi, JobOfSize("pmix", 1), {{"MP_CHILD", "1"}, {"MP_PROCS", "2"}}), "");
  EXPECT_EQ(refusal(kOpenMpi, JobOfSize("pmix", 1), {{"MP_PROCS", "2"}}), "");
}

}  // namespace
}  // namespace openlapi
