// Runs an agent (ssh, srun), or a program here, to its end, and keeps what it says.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace openlapi::boot {

struct AgentResult {
  int status = 0;  // as a shell has it: the exit status, or 128 and the signal's number
  bool too_slow = false;
  std::string output{};  // the first 64 KiB
  std::string errors{};
};

enum class AgentInput { kNothing, kKey };  // standard input: empty, or the key of this boot and then its end

// Ends it when `limit` is over. What it leaves behind is not waited for, also when it holds the outputs. Thread safe.
// Throws BootError: it cannot be started.
AgentResult run_agent(const std::vector<std::string>& words, AgentInput input, std::chrono::seconds limit);

// For messages: blanks between.
std::string glued(const std::vector<std::string>& words);

}  // namespace openlapi::boot
