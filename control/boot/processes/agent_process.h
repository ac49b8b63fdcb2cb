// Runs an agent (ssh, srun), or a program here, to its end, and keeps what it prints.
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

// An agent's standard input: empty, or the key of this boot. Sealed: as a line that MUNGE has made of the key.
enum class AgentInput { kNothing, kKey, kSealedKey };

// A descriptor from which the program reads that; closed on exec. Throws BootError.
FileDescriptor input_for(const std::string& program, AgentInput input);

// A descriptor from which the text, of at most 64 KiB, is read. Throws BootError.
FileDescriptor pipe_with(std::string_view text);

// Ends it when `limit` is over, or when this process ends before it. Processes that it leaves behind are not waited
// for, even if they hold its outputs. Thread safe. Throws BootError: it cannot be started.
AgentResult run_agent(const std::vector<std::string>& words, AgentInput input, std::chrono::seconds limit);
AgentResult run_agent(const std::vector<std::string>& words, const FileDescriptor& in, std::chrono::seconds limit);

// The same, but it has a session of its own, and once it prints `sign` it is let go: it goes on, and its end is not
// waited for. Until then it is ended when this process ends, in whatever way.
AgentResult run_agent_until(const std::vector<std::string>& words, AgentInput input, std::string_view sign,
                            std::chrono::seconds limit);

// What the variable says in seconds, 1 to 86400, else kAgentTime. Throws BootError.
constexpr std::chrono::seconds kAgentTime{60};
std::chrono::seconds agent_time(const std::string& variable);

// What a program has printed, as one line that is not too long.
std::string in_one_line(std::string_view text);

// For messages: the words with blanks between them.
std::string glued(const std::vector<std::string>& words);

}  // namespace openlapi::boot
