#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "api/lam-ssi-boot.h"

namespace {

struct Result {
  int status = 0;
  std::string buffer{};
  std::string output{};
  std::string error{};
};

Result execute(std::string script, bool show, int room = 100) {
  std::string shell = "sh", option = "-c";
  char* command[] = {shell.data(), option.data(), script.data(), nullptr};
  std::string buffer(static_cast<std::size_t>(room), '#');
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Result result;
  result.status = lam_ssi_boot_base_ioexecvp(command, show ? 1 : 0, buffer.data(), room);
  result.output = testing::internal::GetCapturedStdout();
  result.error = testing::internal::GetCapturedStderr();
  result.buffer = buffer.c_str();
  return result;
}

// Section 2.5.8.
TEST(CommandExecution, DirectsOutputToTheBufferAndToStandardOutput) {
  const Result kept = execute("echo one; echo two", false);
  EXPECT_EQ(kept.status, 0);
  EXPECT_EQ(kept.buffer, "one\ntwo\n");
  EXPECT_EQ(kept.output, "");
  const Result shown = execute("echo one", true);
  EXPECT_EQ(shown.output, "one\n");
  EXPECT_EQ(shown.buffer, "one\n");
}

TEST(CommandExecution, KeepsAsMuchAsThereIsRoom) {
  const Result result = execute("i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done", false, 6);
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.buffer, "01234");
}

TEST(CommandExecution, SaysHowACommandFailed) {
  EXPECT_EQ(execute("exit 3", false).error, "lam: sh ended with status 3\n");
  EXPECT_EQ(execute("exit 3", false).status, LAMERROR);
  EXPECT_EQ(execute("kill -9 $$", false).error, "lam: sh was ended by signal 9\n");
  std::string missing = "/no/such/command";
  char* command[] = {missing.data(), nullptr};
  testing::internal::CaptureStderr();
  EXPECT_EQ(lam_ssi_boot_base_ioexecvp(command, 0, nullptr, 0), LAMERROR);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "lam: /no/such/command cannot be started: No such file or directory\n");
}

TEST(CommandExecution, GivesNoInput) { EXPECT_EQ(execute("cat; echo end", false).buffer, "end\n"); }

// What the command leaves behind holds its standard output open.
TEST(CommandExecution, DoesNotWaitForDaemonsThatTheCommandLeft) {
  const Result result = execute("sleep 1000 2>&- & echo $!", false);
  const pid_t left_behind = std::atoi(result.buffer.c_str());
  ASSERT_GT(left_behind, 1);
  EXPECT_EQ(kill(left_behind, SIGKILL), 0);
  EXPECT_EQ(result.status, 0);
}

}  // namespace
