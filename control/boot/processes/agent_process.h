// Runs an agent (ssh, srun), or a program here, to its end, and keeps what it says.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/file_descriptor.h"

namespace openlapi::boot {

struct AgentResult {
  int status = 0;  // as a shell has it: the exit status, or 128 and the signal's number
  bool too_slow = false;
  std::string output{};  // the first 64 KiB
  std::string errors{};
  bool goes_on = false;  // it gave its sign and was let go; there is no status
};

// Standard input: empty, or the key of this boot and then its end. Sealed: in a line that MUNGE has made of it.
enum class AgentInput { kNothing, kKey, kSealedKey };

// What a program reads then; closed on exec. Throws BootError.
FileDescriptor input_for(const std::string& program, AgentInput input);

// The text, of at most 64 KiB, and its end. Throws BootError.
FileDescriptor pipe_with(std::string_view text);

// Ends it when `limit` is over, or when this process ends before it. What it leaves behind is not waited for,
// also when it holds the outputs. Thread safe. Throws BootError: it cannot be started.
AgentResult run_agent(const std::vector<std::string>& words, AgentInput input, std::chrono::seconds limit);
AgentResult run_agent(const std::vector<std::string>& words, const FileDescriptor& in, std::chrono::seconds limit);

// The same, but it has a session of its own, and when it says `sign` on its output it is let go: it goes on, and its
// end is not waited for. Until then it is ended when this process ends, however it does.
AgentResult run_agent_until(const std::vector<std::string>& words, AgentInput input, std::string_view sign,
                            std::chrono::seconds limit);

// What the variable says in seconds, 1 to 86400, else kAgentTime. Throws BootError.
constexpr std::chrono::seconds kAgentTime{60};
std::chrono::seconds agent_time(const std::string& variable);

// What was said, in one line that is not too long.
std::string in_one_line(std::string_view text);

// For messages: blanks between.
std::string glued(const std::vector<std::string>& words);

}  // namespace openlapi::boot
