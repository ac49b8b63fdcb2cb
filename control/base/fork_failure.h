// Which limit a user has reached when a process or thread cannot be started, or memory or a file cannot grow: the text
// of errno does not say it.
#pragma once

#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace openlapi {

// Empty: there is no such limit.
inline std::string process_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NPROC, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return " (processes and threads of this user: at most " + std::to_string(limit.rlim_cur) + ", ulimit -u)";
}

// Empty: there is no such limit.
inline std::string memory_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return " (memory of a process: at most " + std::to_string(limit.rlim_cur / 1024) + " kB, ulimit -v)";
}

// Empty: there is no such limit.
inline std::string stack_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return " (stack of a process: at most " + std::to_string(limit.rlim_cur / 1024) + " kB, ulimit -s)";
}

// Empty: there is no such limit.
inline std::string file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return " (a file of this process: at most " + std::to_string(limit.rlim_cur) + " bytes, ulimit -f)";
}

inline std::string fork_failure(int error) {
  return std::strerror(error) + (error == EAGAIN ? process_limit() : std::string());
}

}  // namespace openlapi
