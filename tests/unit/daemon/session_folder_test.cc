#include "control/daemon/session/session_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "control/daemon/session/tool_client.h"

namespace openlapi::daemon {
namespace {

class SessionFolderTest : public testing::Test {
 protected:
  SessionFolderTest() {
    char name[] = "/tmp/openlapi-session-XXXXXX";
    parent_ = mkdtemp(name);
    for (const char* variable : {"LAM_MPI_SESSION_PREFIX", "LAM_MPI_SESSION_SUFFIX", "LAM_MPI_SOCKET_SUFFIX",
                                 "PBS_JOBID", "SLURM_JOB_ID", "LSB_JOBID", "JOB_ID"}) {
      unsetenv(variable);
    }
    setenv("TMPDIR", parent_.c_str(), 1);
  }
  ~SessionFolderTest() override { std::filesystem::remove_all(parent_); }

  static mode_t mode_of(const std::string& path) {
    struct stat status {};
    return lstat(path.c_str(), &status) == 0 ? status.st_mode & 0777 : 0;
  }

  std::string parent_;
};

TEST_F(SessionFolderTest, HasLamsName) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  const std::string path = session_path({});
  EXPECT_TRUE(path.starts_with(parent_ + "/lam-")) << path;
  EXPECT_TRUE(path.ends_with(std::string("@") + host)) << path;
  EXPECT_EQ(session_path({"", "", "n3"}), path + "-n3");
  EXPECT_EQ(session_path({"", "mine", "n3"}), path + "-mine-n3");
  setenv("SLURM_JOB_ID", "12", 1);
  EXPECT_EQ(session_path({}), path + "-slurm-12");
  setenv("PBS_JOBID", "123.cluster-n1/2", 1);
  EXPECT_EQ(session_path({}), path + "-pbs-123.cluster_n1_2") << "tkill of another session would take -n1 for its own";
  setenv("LAM_MPI_SESSION_SUFFIX", "s", 1);
  EXPECT_EQ(session_path({}), path + "-s");
  setenv("LAM_MPI_SESSION_PREFIX", "/elsewhere", 1);
  EXPECT_TRUE(session_path({}).starts_with("/elsewhere/lam-"));
  EXPECT_TRUE(session_path({"/given", "", ""}).starts_with("/given/lam-"));
}

TEST_F(SessionFolderTest, APathThatNoSocketCanHaveIsRefused) {
  EXPECT_THROW(session_path({"/" + std::string(100, 'x'), "", ""}), std::runtime_error);
}

TEST_F(SessionFolderTest, ASuffixLeadsNowhereElse) {
  EXPECT_THROW(session_path({"", "a/b"}), std::runtime_error);
  setenv("LAM_MPI_SESSION_SUFFIX", "../b", 1);
  EXPECT_THROW(session_path({}), std::runtime_error);
}

TEST_F(SessionFolderTest, IsThisUsersAloneAndGoesWithItsOwner) {
  const std::string path = session_path({});
  {
    SessionFolder session(path);
    session.write_process_number(4711);
    const FileDescriptor socket = session.listen_to_tools();
    const FileDescriptor log = session.open_log();
    EXPECT_EQ(mode_of(path), 0700u);
    EXPECT_EQ(mode_of(path + "/lam-killfile"), 0600u);
    EXPECT_EQ(mode_of(path + "/lam-kernel-socket"), 0600u);
    EXPECT_EQ(mode_of(path + "/lam-log"), 0600u);
    EXPECT_EQ(session_process(path), 4711);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(session_process(path), 0);
}

TEST_F(SessionFolderTest, OthersOfTheSameUniverseHaveFoldersOfTheirOwn) {
  const std::string path = session_path({}), second = session_path({"", "", "n2"}),
                    third = session_path({"", "", "n3"});
  std::filesystem::create_directory(path);
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  std::ofstream(path + "/lam-universe") << "of-a-dead-daemon";
  SessionFolder first(path, second, {"universe", "2"});
  EXPECT_EQ(first.path(), path);
  SessionFolder other(path, third, {"universe", "2"});
  EXPECT_EQ(other.path(), third);
  EXPECT_EQ(mode_of(third + "/lam-universe"), 0600u);
  first.remove();
  EXPECT_FALSE(std::filesystem::exists(path));
  SessionFolder again(path, second, {"universe", "2"});
  EXPECT_EQ(again.path(), path);
  EXPECT_THROW(SessionFolder(third, "", {"universe", "2"}), std::runtime_error);
}

TEST_F(SessionFolderTest, ADaemonThatHasLostItsUniverseHasNoOtherBesideIt) {
  const std::string path = session_path({}), spare = session_path({"", "", "n2"});
  SessionFolder first(path, spare, {"universe", "2"});
  first.leave_universe();
  EXPECT_THROW(SessionFolder(path, spare, {"universe", "2"}), std::runtime_error);
  EXPECT_FALSE(std::filesystem::exists(spare));
  EXPECT_EQ(session_owner(path).universe, "universe") << "who has booted it cannot end it";
}

TEST_F(SessionFolderTest, SaysWhoseItIs) {
  const std::string path = session_path({});
  EXPECT_EQ(session_owner(path).universe, "") << "there is none";
  const SessionFolder session(path, "", {"universe", "7"});
  EXPECT_EQ(session_owner(path).universe, "universe");
  EXPECT_EQ(session_owner(path).node, "7");
}

TEST_F(SessionFolderTest, ADaemonThatHasJustTakenTheFolderIsGivenAMomentToSayWhoseItIs) {
  const std::string path = session_path({});
  SessionFolder session(path);
  std::thread naming([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::ofstream(path + "/lam-universe") << "universe 7\n";
  });
  EXPECT_EQ(session_owner(path).universe, "universe");
  naming.join();
}

TEST_F(SessionFolderTest, AnotherUniverseIsRefused) {
  const std::string path = session_path({}), spare = session_path({"", "", "n2"});
  SessionFolder first(path, spare, {"universe", "2"});
  EXPECT_THROW(SessionFolder(path, spare, {"another", "2"}), std::runtime_error);
  EXPECT_FALSE(std::filesystem::exists(spare));
  EXPECT_THROW(SessionFolder{path}, std::runtime_error);
}

TEST_F(SessionFolderTest, OneDaemonAtATime) {
  const std::string path = session_path({});
  SessionFolder session(path);
  session.write_process_number(4711);
  try {
    SessionFolder second(path);
    FAIL() << "two daemons in one folder";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("process 4711"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(std::filesystem::exists(path)) << "the second has removed the first's folder";
}

TEST_F(SessionFolderTest, WhatADeadDaemonLeftIsTakenOverAndRemoved) {
  const std::string path = session_path({});
  const pid_t child = fork();
  if (child == 0) {
    SessionFolder session(path);
    session.write_process_number(getpid());
    session.listen_to_tools();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(std::filesystem::exists(path + "/lam-kernel-socket"));
  EXPECT_EQ(session_process(path), 0);
  { SessionFolder(path).listen_to_tools(); }
  EXPECT_FALSE(std::filesystem::exists(path));
  remove_session(path);
  EXPECT_FALSE(std::filesystem::exists(path));
}

// Tools that ask whose the folder is, at the moment when a daemon takes it.
TEST_F(SessionFolderTest, WhoLooksKeepsNobodyFromTakingIt) {
  const std::string path = session_path({});
  std::atomic<bool> over = false;
  std::jthread looks([&] {
    while (!over) session_process(path);
  });
  for (int i = 0; i < 2000; ++i) EXPECT_NO_THROW(SessionFolder(path).remove()) << i;
  over = true;
}

// Whatever was forked with the folder has it until it ends.
TEST_F(SessionFolderTest, IsRemovedWhenTheLastThatHadItHasEnded) {
  const std::string path = session_path({});
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t daemon = fork();
  if (daemon == 0) {
    SessionFolder folder(path);
    if (write(ready[1], "", 1) != 1) _exit(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    _exit(0);
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  remove_session(path);
  EXPECT_FALSE(std::filesystem::exists(path));
  waitpid(daemon, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
}

TEST_F(SessionFolderTest, NothingIsBelievedOfAFolderThatOthersCanUse) {
  const std::string path = session_path({});
  SessionFolder session(path, "", {"universe", "7"});
  session.write_process_number(getpid());
  const FileDescriptor socket = session.listen_to_tools();
  EXPECT_EQ(open_session_process(path).number, getpid());
  EXPECT_NO_THROW(ToolClient{path});
  chmod(path.c_str(), 0755);
  EXPECT_EQ(open_session_process(path).number, 0) << "tkill would end any process that a stranger names";
  EXPECT_EQ(session_owner(path).universe, "");
  EXPECT_THROW(ToolClient{path}, std::runtime_error) << "a stranger could be the daemon";
}

TEST_F(SessionFolderTest, ADaemonOfAnotherUserIsNotAskedWhereverItsSocketLies) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  const std::string path = session_path({});
  SessionFolder session(path);
  const FileDescriptor socket = session.listen_to_tools();
  EXPECT_NO_THROW(ToolClient{path});
  ASSERT_EQ(seteuid(65534), 0);
  ASSERT_EQ(listen(socket.get(), 1), 0);  // from now on the socket is this user's
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_THROW(ToolClient{path}, std::runtime_error);
}

TEST_F(SessionFolderTest, NobodySettlesInAFolderThatTakesTheNameMeanwhile) {
  std::string path = session_path({}), evil = parent_ + "/evil";
  mkdir(path.c_str(), 0700);
  mkdir(evil.c_str(), 0700);
  chmod(evil.c_str(), 0755);
  std::jthread stranger([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, evil.c_str(), RENAME_EXCHANGE);
  });
  for (int tries = 0; tries < 20000; ++tries) {
    try {
      SessionFolder(path).leave_to_child();
    } catch (const std::runtime_error&) {
      continue;
    }
  }
  stranger.request_stop();
  stranger.join();
  if (mode_of(path) != 0700) std::swap(path, evil);
  EXPECT_FALSE(std::filesystem::exists(evil + "/lam-killfile"));
}

TEST_F(SessionFolderTest, AFolderThatCannotBeLookedAtIsNotCalledAnotherUsers) {
  std::ofstream(parent_ + "/file") << "no folder";
  try {
    check_own_session(parent_ + "/file/session");
    FAIL() << "nothing can be there";
  } catch (const std::runtime_error& wrong) {
    EXPECT_NE(std::string(wrong.what()).find("Not a directory"), std::string::npos) << wrong.what();
  }
}

TEST_F(SessionFolderTest, AFolderThatOthersCanUseIsRefused) {
  const std::string path = session_path({});
  mkdir(path.c_str(), 0700);
  chmod(path.c_str(), 0755);
  EXPECT_THROW(SessionFolder{path}, std::runtime_error);
  EXPECT_TRUE(std::filesystem::exists(path));
  std::filesystem::remove(path);
  std::filesystem::create_symlink(parent_, path);
  EXPECT_THROW(SessionFolder{path}, std::runtime_error);
}

}  // namespace
}  // namespace openlapi::daemon
