#include "api/rpi/lapi/debugger.h"

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

namespace openlapi::rpi {
namespace {

TEST(DebuggerTest, IsThereWhenAnotherProcessTracesThisOne) {
  const pid_t child = fork();
  if (child == 0) {
    if (is_traced()) _exit(2);  // these tests themselves run in a debugger
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(3);
    _exit(is_traced() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "a process is traced by one only";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace openlapi::rpi
