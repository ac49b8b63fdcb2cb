// Several modules in one process: self, and two that others have written, whose peers are echoes.
#include "api/rpi/host/host_modules.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "api/rpi/host/communicator.h"
#include "api/rpi/host/host.h"
#include "api/rpi/host/self_module.h"
#include "api/rpi/services/process_list.h"

namespace openlapi::rpi {
namespace {

namespace fs = std::filesystem;

const lam_ssi_1_0_0_t* const built_in[] = {self_module()};

template <typename Work>
std::string refusal(Work&& work) {
  try {
    work();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "none";
}

class HostModulesTest : public testing::Test {
 protected:
  HostModulesTest() {
    setenv("LAM_MPI_SSI_base_module_path", std::getenv("RPI_TEST_MODULES"), 1);
    for (int rank = 0; rank < 5; ++rank) {
      _gps gps{rank / 3, rank, rank, rank};
      _proc* process = lam_procadd(&gps);
      if (rank == 0) lam_myproc = process;
    }
  }
  ~HostModulesTest() override {
    unsetenv("LAM_MPI_SSI_base_module_path");
    lam_nukeprocs();
  }
  // On the own node one module, beyond it the other.
  static std::vector<ModuleShare> shares(const std::string& near, const std::string& far) {
    return {{"self", [](const _proc& each) { return &each == lam_myproc; }},
            {near, [](const _proc& each) { return each.p_gps.gps_node == 0; }},
            {far, [](const _proc& each) { return each.p_gps.gps_node == 1; }}};
  }
  static std::span<_proc* const> all() { return {lam_procs, static_cast<std::size_t>(lam_num_procs)}; }
};

TEST_F(HostModulesTest, EachHasItsPeersAndAnySourceHasAll) {
  HostModules modules(built_in);
  const int level = modules.open(shares("plain", "newer"), MPI_THREAD_MULTIPLE);
  EXPECT_EQ(level, MPI_THREAD_FUNNELED);
  const MessageLimits limits = modules.init(all(), {.tag = 32767, .context = 100});
  EXPECT_EQ(limits.tag, 1000);
  EXPECT_EQ(modules.module_of(*lam_procs[0])->name, "self");
  EXPECT_EQ(modules.module_of(*lam_procs[2])->name, "plain");
  EXPECT_EQ(modules.module_of(*lam_procs[4])->name, "newer");
  for (_proc* process : all()) EXPECT_EQ(process->p_mode, LAM_PRPIINIT | LAM_PRPICONNECT);
  {
    Host host(
        modules.modules(), [&](const _proc& each) { return modules.module_of(each); }, limits, level);
    Communicator world(0, all());
    const auto operation = [&](int type, int& value, int peer) {
      return Operation{type, &value, contiguous(sizeof value), peer, 5, world.handle()};
    };
    // Before they come, and after.
    for (const bool posted : {true, false}) {
      for (int rank = 4; rank >= 0; --rank) {
        int out = 100 + rank, in = 0;
        MPI_Request receive = posted ? host.build_and_start(operation(LAM_RQIRECV, in, MPI_ANY_SOURCE)) : nullptr;
        host.run(operation(LAM_RQISEND, out, rank));
        MPI_Status found{};
        if (!posted) {
          EXPECT_TRUE(host.iprobe(world.handle(), MPI_ANY_SOURCE, 5, &found));
          EXPECT_EQ(found.MPI_SOURCE, rank);
          receive = host.build_and_start(operation(LAM_RQIRECV, in, MPI_ANY_SOURCE));
        }
        const MPI_Status status = host.wait(receive);
        EXPECT_EQ(status.MPI_SOURCE, rank);
        EXPECT_EQ(in, 100 + rank);
        EXPECT_FALSE(host.iprobe(world.handle(), MPI_ANY_SOURCE, MPI_ANY_TAG, &found));
      }
    }
  }
  modules.close();
  EXPECT_EQ(lam_procs[4]->p_mode, 0);
}

TEST_F(HostModulesTest, ProcessesComeAndGo) {
  HostModules modules(built_in);
  modules.open(shares("plain", "newer"), MPI_THREAD_SINGLE);
  modules.init(all().first(2), {.tag = 100, .context = 100});
  modules.add_processes(all().subspan(3));
  EXPECT_EQ(lam_procs[2]->p_mode, 0);
  EXPECT_EQ(lam_procs[3]->p_mode, LAM_PRPIINIT | LAM_PRPICONNECT);
  _proc* leaving = lam_procs[4];
  EXPECT_EQ(lam_procfree(leaving), 0);
  EXPECT_EQ(modules.module_of(*leaving), nullptr);
  lam_procs[2]->p_gps.gps_node = 7;
  EXPECT_EQ(refusal([&] { modules.add_processes(all().subspan(2, 1)); }), "no rpi module reaches process 2 on node 7");
}

TEST_F(HostModulesTest, WhatCannotBeUsedIsSaid) {
  HostModules modules(built_in);
  EXPECT_EQ(refusal([&] { modules.open({}, 0); }), "no rpi module is named");
  modules.close();
  EXPECT_EQ(refusal([&] { modules.open(shares("plain", "missing"), 0); }),
            "LAM_MPI_SSI_rpi is missing, and there is no such module");
  modules.close();
  modules.open({{"self", [](const _proc&) { return true; }}}, 0);
  testing::internal::CaptureStderr();
  EXPECT_EQ(refusal([&] { modules.init(all(), {.tag = 1, .context = 1}); }), "rpi module self cannot be initialised");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("is to reach process 1; allowed: this process alone"),
            std::string::npos);
}

// The same modules with .laminfo files beside them.
class DependenciesTest : public HostModulesTest {
 protected:
  DependenciesTest() : folder_(fs::temp_directory_path() / ("openlapi-laminfo-" + std::to_string(getpid()))) {
    fs::create_directory(folder_);
    for (const char* name : {"plain", "newer"}) {
      const std::string file = std::string("ssi_rpi_") + name + ".so";
      fs::copy_file(fs::path(std::getenv("RPI_TEST_MODULES")) / file, folder_ / file);
    }
    setenv("LAM_MPI_SSI_base_module_path", folder_.c_str(), 1);
  }
  ~DependenciesTest() override { fs::remove_all(folder_); }

  void needs(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / ("ssi_rpi_" + name + ".laminfo")) << text;
  }
  // What is said when plain is opened.
  std::string complaint() {
    testing::internal::CaptureStderr();
    const std::string refused = refusal([&] {
      HostModules modules(built_in);
      modules.open({{"plain", [](const _proc&) { return true; }}}, 0);
    });
    const std::string said = testing::internal::GetCapturedStderr();
    return refused == "none" ? "none" : said.substr(said.find("is left out: ") + 13);
  }
  const fs::path folder_;
};

TEST_F(DependenciesTest, AreLoadedFirst) {
  needs("plain", "# a remark\n\n// another\n  dependency=rpi:newer  \ndependency=rpi:self\n");
  EXPECT_EQ(complaint(), "none");
  fs::remove(folder_ / "ssi_rpi_newer.so");
  EXPECT_EQ(complaint(), "it needs rpi:newer, and there is no such module in \"" + folder_.string() + "\"\n");
  std::ofstream(folder_ / "ssi_rpi_newer.so") << "no shared object";
  EXPECT_EQ(complaint().substr(0, 20), "it needs rpi:newer: ");
}

TEST_F(DependenciesTest, ThatGoRoundAreRefused) {
  needs("plain", "dependency=rpi:newer\n");
  needs("newer", "dependency=rpi:plain\n");
  EXPECT_EQ(complaint(), "it needs itself: rpi:plain needs rpi:newer needs rpi:plain\n");
  needs("newer", "");
  EXPECT_EQ(complaint(), "none");
  needs("plain", "dependency=rpi:plain\n");
  EXPECT_EQ(complaint(), "it needs itself: rpi:plain needs rpi:plain\n");
}

TEST_F(DependenciesTest, OtherLinesAreRefused) {
  for (const char* line :
       {"depends=rpi:newer", "dependency=rpi", "dependency=:newer", "dependency=rpi:", "dependency=rpi:../newer"}) {
    needs("plain", std::string("# first\n") + line + "\n");
    EXPECT_EQ(complaint(), "line 2 of " + (folder_ / "ssi_rpi_plain.laminfo").string() + " is \"" + line +
                               "\"; allowed: dependency=KIND:NAME\n");
  }
}

}  // namespace
}  // namespace openlapi::rpi
