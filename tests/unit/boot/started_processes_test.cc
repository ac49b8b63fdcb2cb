#include "control/boot/startup/started_processes.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "control/boot/nodes/node_array.h"
#include "control/boot/processes/local_processes.h"

namespace openlapi::boot {
namespace {

namespace fs = std::filesystem;

// As a daemon that was stopped before it had anything by which tkill finds it.
pid_t start_stopped() {
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    raise(SIGSTOP);
    _exit(0);
  }
  siginfo_t stop{};
  EXPECT_EQ(waitid(P_PID, static_cast<id_t>(child), &stop, WSTOPPED), 0);
  return child;
}

bool is_there(pid_t process) { return kill(process, 0) == 0 || errno != ESRCH; }

TEST(StartedProcesses, WipingANodeEndsADaemonThatTkillDoesNotFind) {
  std::string pattern = (fs::temp_directory_path() / "started_processes.XXXXXX").string();
  const fs::path prefix = mkdtemp(pattern.data());
  fs::create_directory(prefix / "bin");
  std::ofstream(prefix / "bin/tkill") << "#!/bin/sh\n";
  chmod((prefix / "bin/tkill").c_str(), 0700);
  NodeArray nodes(1);
  HostEntry host;
  host.name = "inky";
  host.pairs = {{"prefix", prefix}};
  describe_node(nodes[0], 3, host);

  const pid_t ours = start_stopped(), of_another = start_stopped();
  started_processes().add(3, "lamd", ours);
  started_processes().add(4, "lamd", of_another);
  EXPECT_EQ(start_here(&nodes[0], LAM_SSI_BOOT_PROC_RECON, {}), 0);
  EXPECT_TRUE(is_there(ours)) << "recon ends nothing";
  EXPECT_EQ(start_here(&nodes[0], LAM_SSI_BOOT_PROC_WIPE, {}), 0);
  EXPECT_FALSE(is_there(ours));
  EXPECT_TRUE(is_there(of_another));
  started_processes().end(4);
  EXPECT_FALSE(is_there(of_another));
  fs::remove_all(prefix);
}

}  // namespace
}  // namespace openlapi::boot
