#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>

#include <csignal>
#include <cstdlib>
#include <string>

#include "control/boot/include/etc_misc.h"
#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/include/sfh.h"

// Beside that of the specification.
LAM_SSI_PUBLIC int lam_ssi_boot_base_ioexecvp(char** cmdv, int showout, char* outbuff, int outbuffsize,
                                              int stderr_is_err) __asm__("lam_ssi_boot_base_ioexecvp");

namespace {

struct Result {
  int status = 0;
  std::string buffer{};
  std::string output{};
  std::string error{};
  int error_number = 0;
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
  EXPECT_EQ(execute("exit 3", false).error, std::string(program_invocation_short_name) + ": sh ended with status 3\n");
  EXPECT_EQ(execute("exit 3", false).status, LAMERROR);
  EXPECT_EQ(execute("kill -9 $$", false).error,
            std::string(program_invocation_short_name) + ": sh was ended by signal 9\n");
  std::string missing = "/no/such/command";
  char* command[] = {missing.data(), nullptr};
  testing::internal::CaptureStderr();
  EXPECT_EQ(lam_ssi_boot_base_ioexecvp(command, 0, nullptr, 0), LAMERROR);
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      std::string(program_invocation_short_name) + ": /no/such/command cannot be started: No such file or directory\n");
}

std::string key_of_this_boot() {
  int ends[2];
  if (pipe(ends) != 0 || lam_ssi_boot_base_write_key(ends[1]) != 0) return "no key";
  std::string key(32, '#');
  if (read(ends[0], key.data(), key.size()) != 32) return "no key";
  for (const int end : ends) close(end);
  std::string digits;
  for (const unsigned char byte : key) {
    for (const int nibble : {byte >> 4, byte & 15}) digits += "0123456789abcdef"[nibble];
  }
  return digits;
}

constexpr char kShowInput[] = "od -An -v -tx1 | tr -d ' \n'; echo .";

// A daemon gets its key from any module, and others do not see it.
TEST(CommandExecution, GivesTheKeyOfTheBootAsInputAndNothingElse) {
  EXPECT_EQ(execute(kShowInput, false).buffer, key_of_this_boot() + ".\n");
}

// What a killed booting agent has started would log in elsewhere all the same.
TEST(CommandExecution, EndsTheCommandWithTheProcessThatWaitsForIt) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t agent = fork();
  ASSERT_GE(agent, 0);
  if (agent == 0) {
    std::string shell = "sh", option = "-c", script = "echo >&" + std::to_string(ends[1]) + "; exec sleep 1000";
    char* command[] = {shell.data(), option.data(), script.data(), nullptr};
    lam_ssi_boot_base_ioexecvp(command, 0, nullptr, 0);
    _exit(0);
  }
  close(ends[1]);
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 1);
  kill(agent, SIGKILL);
  EXPECT_EQ(waitpid(agent, nullptr, 0), agent);
  // It ends when nothing holds the other end any more.
  pollfd end{ends[0], POLLIN, 0};
  EXPECT_EQ(poll(&end, 1, 60000), 1);
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
}

// As in LAM 7.1.
Result execute_with_errors(const std::string& script, bool stderr_is_err) {
  int count = 0;
  char** command = nullptr;
  for (const std::string& word : {std::string("sh"), std::string("-c"), script}) {
    sfh_argv_add(&count, &command, word.c_str());
  }
  Result result;
  std::string buffer(100, '#');
  testing::internal::CaptureStderr();
  result.status = lam_ssi_boot_base_ioexecvp(command, 0, buffer.data(), 100, stderr_is_err ? 1 : 0);
  result.error_number = errno;
  result.error = testing::internal::GetCapturedStderr();
  result.buffer = buffer.c_str();
  return result;
}

TEST(CommandExecutionOfLam, TakesStandardErrorForAFailureIfAskedTo) {
  const Result failed = execute_with_errors("echo oops >&2; echo said", true);
  EXPECT_EQ(failed.status, LAMERROR);
  EXPECT_EQ(failed.error_number, EFAULT);
  EXPECT_EQ(failed.buffer, "said\n");
  EXPECT_EQ(failed.error, "oops\n" + std::string(program_invocation_short_name) + ": sh wrote to standard error\n");
  const Result ignored = execute_with_errors("echo oops >&2; echo said", false);
  EXPECT_EQ(ignored.status, 0);
  EXPECT_EQ(ignored.error, "oops\n");
  EXPECT_EQ(execute_with_errors("echo said", true).status, 0);
}

TEST(CommandExecutionOfLam, TellsTheStatusInErrnoAndGivesTheKey) {
  const Result failed = execute_with_errors("exit 9", true);
  EXPECT_EQ(failed.status, LAMERROR);
  EXPECT_EQ(failed.error_number, 9);
  EXPECT_NE(execute_with_errors("exit 1", false).error_number, EFAULT);
  EXPECT_EQ(execute_with_errors(kShowInput, true).buffer, key_of_this_boot() + ".\n");
}

TEST(CommandExecutionOfLam, RunsLocalProgramsWithTheKey) {
  const auto run = [](std::string script) {
    std::string shell = "sh", option = "-c";
    char* command[] = {shell.data(), option.data(), script.data(), nullptr};
    return _lam_few(command);
  };
  EXPECT_EQ(run("exit 7"), 7);
  EXPECT_EQ(run("kill -TERM $$"), SIGTERM);
  const auto input_is = [](const std::string& what) {
    return std::string("[ \"$(").append(kShowInput).append(")\" = ").append(what).append(" ]");
  };
  EXPECT_EQ(run(input_is(key_of_this_boot().append("."))), 0);
  EXPECT_NE(run(input_is(".")), 0);
  testing::internal::CaptureStderr();
  EXPECT_EQ(_lam_few(nullptr), LAMERROR);
  EXPECT_NE(testing::internal::GetCapturedStderr(), "");
}

// What the command leaves behind holds its standard output open.
TEST(CommandExecution, DoesNotWaitForDaemonsThatTheCommandLeft) {
  const Result result = execute("sleep 1000 2>&- & echo $!", false);
  const pid_t left_behind = std::atoi(result.buffer.c_str());
  ASSERT_GT(left_behind, 1);
  EXPECT_EQ(kill(left_behind, SIGKILL), 0);
  EXPECT_EQ(result.status, 0);
}

}  // namespace
