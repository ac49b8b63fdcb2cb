// Command lines of remote shells, and what their failures are called.
#include "control/boot/modules/rsh_module.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "control/boot/errors/boot_error.h"

namespace openlapi::boot {
namespace {

using Words = std::vector<std::string>;

class RshCommand : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"agent", "username", "no_n", "no_profile", "fast", "ignore_stderr", "time"}) {
      unsetenv((std::string("LAM_MPI_SSI_boot_rsh_") + name).c_str());
    }
    unsetenv("LAMRSH");
  }
  void set(const std::string& name, const char* value) { setenv(("LAM_MPI_SSI_boot_rsh_" + name).c_str(), value, 1); }
  std::string mistake() {
    try {
      read_rsh_settings();
    } catch (const BootError& error) {
      return error.what();
    }
    return "none";
  }
};

TEST_F(RshCommand, TakesTheAgentFromTheEnvironment) {
  EXPECT_EQ(read_rsh_settings().agent, (Words{"ssh", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"}));
  setenv("LAMRSH", "rsh", 1);
  EXPECT_EQ(read_rsh_settings().agent, Words{"rsh"});
  set("agent", "\"/opt/my agent\" -F file");
  EXPECT_EQ(read_rsh_settings().agent, (Words{"/opt/my agent", "-F", "file"}));
  set("agent", " ");
  EXPECT_EQ(mistake(), "LAM_MPI_SSI_boot_rsh_agent is empty; allowed: a program and its arguments");
}

TEST_F(RshCommand, RefusesParametersThatMakeNoSense) {
  set("no_n", "yes");
  EXPECT_EQ(mistake(), "LAM_MPI_SSI_boot_rsh_no_n is \"yes\"; allowed: 0, 1");
  set("no_n", "1");
  set("time", "0");
  EXPECT_EQ(mistake(), "LAM_MPI_SSI_boot_rsh_time is \"0\"; allowed: seconds, 1 to 86400");
  set("time", "5");
  set("username", "-oProxyCommand=x");
  EXPECT_EQ(mistake(),
            "LAM_MPI_SSI_boot_rsh_username is \"-oProxyCommand=x\"; allowed: a name that does not begin with -");
  set("username", "jsmith");
  const RshSettings settings = read_rsh_settings();
  EXPECT_TRUE(settings.no_n);
  EXPECT_EQ(settings.username, "jsmith");
  EXPECT_EQ(settings.time.count(), 5);
}

TEST_F(RshCommand, BuildsTheAgentsWords) {
  char inky[] = "inky", clyde[] = "clyde", smith[] = "smith";
  lamnode node{}, other{};
  node.lnd_hname = inky;
  other.lnd_hname = clyde;
  other.lnd_uname = smith;
  RshSettings settings;
  settings.agent = {"ssh", "-x"};
  EXPECT_EQ(agent_words(settings, node, "true", AgentInput::kNothing), (Words{"ssh", "-x", "inky", "-n", "true"}));
  // -n would keep the key from the command.
  EXPECT_EQ(agent_words(settings, node, "true", AgentInput::kKey), (Words{"ssh", "-x", "inky", "true"}));
  EXPECT_EQ(agent_words(settings, other, "true", AgentInput::kKey),
            (Words{"ssh", "-x", "clyde", "-l", "smith", "true"}));
  settings.username = "me";
  settings.no_n = true;
  EXPECT_EQ(agent_words(settings, node, "true", AgentInput::kNothing),
            (Words{"ssh", "-x", "inky", "-l", "me", "true"}));
  EXPECT_EQ(agent_words(settings, other, "true", AgentInput::kNothing),
            (Words{"ssh", "-x", "clyde", "-l", "smith", "true"}));
}

TEST_F(RshCommand, ReadsTheProfileWhereTheShellDoesNot) {
  const Words words{"hboot", "-I", "-H 10.0.0.1"};
  const std::string bare = "hboot -I '-H 10.0.0.1'";
  for (const char* shell : {"/bin/bash", "/bin/csh", "/usr/bin/tcsh", ""}) {
    EXPECT_EQ(remote_command(words, shell, false), bare) << shell;
  }
  const std::string with = "( ! [ -e ./.profile ] || . ./.profile </dev/null; " + bare + " )";
  EXPECT_EQ(remote_command(words, "/bin/sh", false), with);
  EXPECT_EQ(remote_command(words, "/usr/bin/ksh", false), with);
  EXPECT_EQ(remote_command(words, "/bin/sh", true), bare);
}

TEST_F(RshCommand, QuotesWhatShellsReadBack) {
  EXPECT_EQ(quoted_for_shell("/opt/lam/bin/hboot"), "/opt/lam/bin/hboot");
  EXPECT_EQ(quoted_for_shell(""), "''");
  EXPECT_EQ(quoted_for_shell("it's"), "'it'\\''s'");
  EXPECT_THROW(quoted_for_shell("two\nlines"), BootError);
  const Words words{"$HOME", "`id`", "a b", "it's", "\"", "\\", "!x",        "*",        "~",  "#",   ";",   "&&",
                    "|",     "<x",   ">x",  "()",   "{}", "",   "tab\there", "\xc3\xa9", "-n", "a=b", "[a]", "?"};
  for (const char* shell : {"/bin/sh", "/bin/bash"}) {
    Words command{"printf", "%s|"};
    command.insert(command.end(), words.begin(), words.end());
    std::string expected;
    for (const std::string& word : words) expected += word + "|";
    // As sshd does: the user's shell with -c.
    const AgentResult result = run_agent({shell, "-c", remote_command(command, "/bin/bash", false)},
                                         AgentInput::kNothing, std::chrono::seconds(60));
    EXPECT_EQ(result.output, expected) << shell;
    EXPECT_EQ(result.errors, "") << shell;
  }
}

TEST_F(RshCommand, SaysWhyAHostFailed) {
  RshSettings settings;
  const auto failure = [&](int status, const char* errors) {
    return agent_failure({status, false, "", errors}, settings);
  };
  EXPECT_EQ(failure(0, ""), "");
  EXPECT_EQ(failure(255, "ssh: connect to host inky port 22: Connection refused\r\n"),
            "refuses connections: ssh: connect to host inky port 22: Connection refused");
  EXPECT_EQ(failure(255, "ssh: connect to host inky port 22: No route to host\n").find("cannot be reached: "), 0u);
  EXPECT_EQ(failure(255, "ssh: connect to host inky port 22: Connection timed out\n").find("cannot be reached: "), 0u);
  EXPECT_EQ(failure(255, "ssh: Could not resolve hostname inky: x\n").find("its name has no address: "), 0u);
  EXPECT_EQ(failure(255, "me@inky: Permission denied (publickey).\n").find("does not let this user log in: "), 0u);
  EXPECT_EQ(failure(255, "Host key verification failed.\n").find("its host key is not the known one: "), 0u);
  EXPECT_EQ(failure(255, ""), "the agent failed");
  EXPECT_EQ(
      failure(127, "bash: line 1: hboot: command not found\n"),
      "the command was not found there: bash: line 1: hboot: command not found; the host's line of the boot schema "
      "needs prefix=FOLDER, where FOLDER/bin has hboot and tkill, or the PATH that its shells have without a login "
      "needs that bin");
  EXPECT_EQ(failure(126, "bash: hboot: Permission denied\n").find("the command cannot be executed there: "), 0u);
  EXPECT_EQ(failure(3, "one\ntwo\n"), "the command ended with status 3: one; two");
  EXPECT_EQ(agent_failure({137, true, "", ""}, settings), "was given up after 60 s");
}

TEST_F(RshCommand, TakesWhatIsOnStandardErrorForAFailureUnlessToldOtherwise) {
  RshSettings settings;
  const AgentResult result{0, false, "", "stty: no terminal\n"};
  EXPECT_NE(agent_failure(result, settings).find("wrote to standard error"), std::string::npos);
  EXPECT_NE(agent_failure(result, settings).find(": stty: no terminal"), std::string::npos);
  settings.ignore_stderr = true;
  EXPECT_EQ(agent_failure(result, settings), "");
}

TEST(AgentProcess, KeepsOutputErrorsAndStatus) {
  const AgentResult result =
      run_agent({"sh", "-c", "cat; echo out; echo err >&2; exit 7"}, AgentInput::kNothing, std::chrono::seconds(60));
  EXPECT_EQ(result.output, "out\n");
  EXPECT_EQ(result.errors, "err\n");
  EXPECT_EQ(result.status, 7);
  EXPECT_FALSE(result.too_slow);
}

TEST(AgentProcess, PassesTheKeyOnStandardInput) {
  const AgentResult result = run_agent({"sh", "-c", "wc -c"}, AgentInput::kKey, std::chrono::seconds(60));
  EXPECT_EQ(std::atoi(result.output.c_str()), 32);
}

TEST(AgentProcess, EndsAnAgentThatHangs) {
  const AgentResult result = run_agent({"sleep", "1000"}, AgentInput::kNothing, std::chrono::seconds(1));
  EXPECT_TRUE(result.too_slow);
  EXPECT_EQ(result.status, 128 + 9);
}

TEST(AgentProcess, DoesNotWaitForWhatIsLeftBehind) {
  // It holds both outputs.
  const AgentResult result =
      run_agent({"sh", "-c", "sleep 1000 & echo $!"}, AgentInput::kNothing, std::chrono::seconds(30));
  EXPECT_EQ(kill(std::atoi(result.output.c_str()), SIGKILL), 0);
  EXPECT_FALSE(result.too_slow);
  EXPECT_EQ(result.status, 0);
}

// In a process with a /tmp of its own in which no file can be made.
TEST(AgentProcess, NeedsNoFolderForWhatIsSaidWhenNobodyReads) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const int wanted = CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER);
    if (unshare(wanted) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", "/tmp", "tmpfs", MS_RDONLY, nullptr) != 0) {
      _exit(2);
    }
    try {
      const AgentResult result =
          run_agent_until({"sh", "-c", "echo here; exit 0"}, AgentInput::kNothing, "here", std::chrono::seconds(60));
      _exit(result.goes_on ? 0 : 3);
    } catch (const BootError& error) {
      std::fprintf(stderr, "%s\n", error.what());
      _exit(4);
    }
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(AgentProcess, SaysThatThereIsNoSuchProgram) {
  EXPECT_THROW(run_agent({"/no/such/agent"}, AgentInput::kNothing, std::chrono::seconds(1)), BootError);
}

}  // namespace
}  // namespace openlapi::boot
