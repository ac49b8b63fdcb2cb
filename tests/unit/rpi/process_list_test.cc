#include "api/rpi/services/process_list.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace openlapi::rpi {
namespace {

_proc* added(int node, int number, int rank) {
  _gps gps{.gps_node = node, .gps_pid = number, .gps_idx = number, .gps_grank = rank};
  return lam_procadd(&gps);
}

std::vector<_proc*> all() {
  std::vector<_proc*> processes;
  for (_proc* each = lam_topproc(); each != nullptr; each = lam_nextproc()) processes.push_back(each);
  return processes;
}

class ProcessFunctions : public testing::Test {
 protected:
  ~ProcessFunctions() override {
    finalize_processes_with(nullptr);
    lam_nukeprocs();
  }
};

TEST_F(ProcessFunctions, ListProcessesAsTheyWereAdded) {
  EXPECT_EQ(lam_topproc(), nullptr);
  _proc* high = added(1, 50, 0);
  _proc* low = added(0, 100, 1);
  EXPECT_EQ(added(1, 50, 0), high);
  EXPECT_EQ(all(), (std::vector{high, low}));
  EXPECT_EQ(std::vector(lam_procs, lam_procs + lam_num_procs), (std::vector{high, low}));
  EXPECT_EQ(lam_nprocs(), 2);
  EXPECT_EQ(high->p_mode, 0);
  EXPECT_EQ(high->p_refcount, 0);
  EXPECT_EQ(high->p_rpi, nullptr);
  EXPECT_EQ(lam_procfind(&low->p_gps), low);
  _gps other = low->p_gps;
  other.gps_grank = 7;
  EXPECT_EQ(lam_procfind(&other), nullptr);
}

TEST_F(ProcessFunctions, HaveOneOrderInAllProcesses) {
  _proc* sorted[] = {added(1, 50, 0), added(0, 101, 2), added(0, 100, 1)};
  EXPECT_EQ(lam_proccmp(sorted[0], sorted[1]), 1);
  EXPECT_EQ(lam_proccmp(sorted[1], sorted[0]), -1);
  EXPECT_EQ(lam_proccmp(sorted[1], sorted[1]), 0);
  lam_procsort(sorted, 3);
  EXPECT_EQ(sorted[0]->p_gps.gps_pid, 100);
  EXPECT_EQ(sorted[1]->p_gps.gps_pid, 101);
  EXPECT_EQ(sorted[2]->p_gps.gps_pid, 50);
}

TEST_F(ProcessFunctions, RemoveProcessesWhileSomebodyLooksThroughThem) {
  for (int n = 0; n < 6; ++n) added(0, n, n);
  lam_myproc = lam_procs[3];
  int seen = 0;
  for (_proc* each = lam_topproc(); each != nullptr; each = lam_nextproc()) {
    ++seen;
    if (each->p_gps.gps_pid % 2 == 1) {
      EXPECT_EQ(lam_procrm(each), 0);
    }
  }
  EXPECT_EQ(seen, 6);
  EXPECT_EQ(lam_num_procs, 3);
  EXPECT_EQ(lam_myproc, nullptr);
  _proc stranger{};
  EXPECT_EQ(lam_procrm(&stranger), LAMERROR);
  lam_nukeprocs();
  EXPECT_EQ(lam_procs, nullptr);
  EXPECT_EQ(lam_num_procs, 0);
  EXPECT_EQ(lam_topproc(), nullptr);
}

TEST_F(ProcessFunctions, AProcessOfAnotherWorldGoesWithItsLastGroup) {
  static std::vector<int> finalised;
  finalised.clear();
  finalize_processes_with([](_proc* process) {
    finalised.push_back(process->p_gps.gps_pid);
    return process->p_gps.gps_pid == 3 ? LAMERROR : 0;
  });
  _proc* ours[] = {added(0, 1, 0)};
  _proc* mixed[] = {ours[0], added(0, 2, 0), added(0, 3, 1)};
  for (_proc* client : {mixed[1], mixed[2]}) client->p_mode |= LAM_PCLIENT;
  const _group world{.g_nprocs = 1, .g_myrank = 0, .g_refcount = 1, .g_f77handle = 0, .g_procs = ours};
  const _group spawned{.g_nprocs = 3, .g_myrank = 0, .g_refcount = 1, .g_f77handle = 0, .g_procs = mixed};
  for (const _group* group : {&world, &spawned, &spawned}) add_references(*group);
  EXPECT_EQ(ours[0]->p_refcount, 3);
  drop_references(spawned);
  EXPECT_EQ(lam_num_procs, 3);
  testing::internal::CaptureStderr();
  drop_references(spawned);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("cannot finalise process 3"), std::string::npos);
  EXPECT_EQ(finalised, (std::vector{2, 3}));
  EXPECT_EQ(all(), std::vector{ours[0]});
  drop_references(world);
  EXPECT_EQ(all(), std::vector{ours[0]});
  EXPECT_EQ(ours[0]->p_refcount, 0);
}

}  // namespace
}  // namespace openlapi::rpi
