// Of boot module rsh: the command lines of a remote shell's agent, and what its failures mean.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/processes/agent_process.h"

namespace openlapi::boot {

// LAM_MPI_SSI_boot_rsh_agent, _username, _no_n, _no_profile, _fast, _ignore_stderr, _time.
struct RshSettings {
  std::vector<std::string> agent{};
  std::string username{};      // where the boot schema names no user
  bool no_n = false;           // give the agent no -n where it needs no input
  bool no_profile = false;     // never have .profile read
  bool fast = false;           // the shell there is the one here: do not ask
  bool ignore_stderr = false;  // what comes on standard error is no failure
  std::chrono::seconds time = kAgentTime;
};

// Throws BootError.
RshSettings read_rsh_settings();

// A word as sh, ksh, bash and csh read it back. Throws BootError: a line break or 0 in it.
std::string quoted_for_shell(std::string_view word);

// What the remote shell runs. `shell`: what `echo $SHELL` said there; shells that read no file of their own for a
// command read ./.profile first, which may set PATH.
std::string remote_command(const std::vector<std::string>& words, std::string_view shell, bool no_profile);

// The command line of the agent.
std::vector<std::string> agent_words(const RshSettings& settings, const lamnode& node, const std::string& command,
                                     AgentInput input);

// Empty: the command did what it should. Else why not, in one line.
std::string agent_failure(const AgentResult& result, const RshSettings& settings);

}  // namespace openlapi::boot
