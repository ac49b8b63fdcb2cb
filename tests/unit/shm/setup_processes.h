// Processes that set up shared memory with each other.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "shm/shm_transport.h"

namespace openlapi::test {

inline ShmConfig config_of(std::uint64_t cookie, PeerIndex self, std::uint32_t tasks) {
  ShmConfig config{.cookie = cookie, .self = self};
  config.local_tasks.resize(tasks);
  std::iota(config.local_tasks.begin(), config.local_tasks.end(), 0u);
  config.setup_timeout_milliseconds = 600'000;  // longer than a test may take: nobody waits for it
  return config;
}

// Processes whose exit status is `body`'s result; 0 is what the tests want.
class Children {
 public:
  void start(const std::function<int()>& body) {
    std::fflush(nullptr);
    const pid_t process = fork();
    if (process == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int status = body();
      std::fflush(nullptr);
      _exit(testing::Test::HasFailure() ? 99 : status);
    }
    processes_.push_back(process);
  }
  pid_t operator[](std::size_t i) const { return processes_[i]; }

  std::vector<int> finish() {
    std::vector<int> results;
    for (const pid_t process : processes_) {
      int status = 0;
      waitpid(process, &status, 0);
      results.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    }
    processes_.clear();
    return results;
  }
  ~Children() {
    for (const pid_t process : processes_) kill(process, SIGKILL);
    finish();
  }

 private:
  std::vector<pid_t> processes_;
};

// Opens and says how it went: 0, or the kind of failure; a reason must come with it.
inline int open_status(const ShmConfig& config) {
  ShmSetupError error;
  const auto transport = open_shm_transport(config, error);
  EXPECT_EQ(transport == nullptr, !error.reason.empty());
  return static_cast<int>(error.failure);
}

inline int code(ShmFailure failure) { return static_cast<int>(failure); }

// The node's sockets with names of ours, by their numbers in the kernel; those of other tests are among them.
inline std::set<std::string> named_sockets() {
  std::ifstream file("/proc/net/unix");
  std::set<std::string> numbers;
  for (std::string line; std::getline(file, line);) {
    const std::size_t end = line.find(" @openlapi-");
    if (end == std::string::npos) continue;
    const std::size_t begin = line.rfind(' ', end - 1) + 1;
    numbers.insert(line.substr(begin, end - begin));
  }
  return numbers;
}

// Those of them that the process has open.
inline std::set<std::string> named_sockets_of(pid_t process) {
  const std::set<std::string> named = named_sockets();
  std::set<std::string> numbers;
  std::error_code ended;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd", ended)) {
    const std::string target = std::filesystem::read_symlink(entry, ended).string();  // socket:[number]
    if (!target.starts_with("socket:[")) continue;
    const std::string number = target.substr(8, target.size() - 9);
    if (named.contains(number)) numbers.insert(number);
  }
  return numbers;
}

}  // namespace openlapi::test
