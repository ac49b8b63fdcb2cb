// Runs one program over and over, each time in a process of its own and with another mistake: what all_mutants.py asks
// for in lines on the standard input, `MISTAKE MILLISECONDS WHAT`, is done with limits of time and memory, and
// answered with a line, `ENDED MICROSECONDS STALLED NAME REACHED...`. ENDED: 0 well, 1 not, 2 by a limit.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <string>

#include "tests/mutants/mutant_switch.h"

namespace mutants {

struct Shared {
  char name[256];  // of what runs
  unsigned char reached[kMost];
};

class ForkServer {
 public:
  using Work = std::function<int(const std::string& what)>;

  explicit ForkServer(Work work) : work_(std::move(work)) {
    void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    shared_ = static_cast<Shared*>(memory);
    reached = shared_->reached;
    // Whoever a run leaves behind becomes a child of this process, and ends with it.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    answers_ = fdopen(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 100), "w");
    silence();
  }

  void serve() {
    for (std::string line; std::getline(std::cin, line);) {
      int mistake = 0, at = 0;
      long milliseconds = 0;
      if (std::sscanf(line.c_str(), "%d %ld %n", &mistake, &milliseconds, &at) != 2) std::abort();
      run(mistake, milliseconds, line.substr(static_cast<std::size_t>(at)));
    }
  }

  char* name() { return shared_->name; }

 private:
  static constexpr long kSlice = 100;     // ms between looks
  static constexpr long kStalled = 1000;  // a look that is so late: the machine, or this process, stood still
  static constexpr rlim_t kMemory = rlim_t{4} << 30;

  static long now() {
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  static void silence() {
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
    close(nothing);
  }

  [[noreturn]] void work(int mistake, long milliseconds, const std::string& what) {
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    close(nothing);
    const rlimit no_core = {0, 0}, memory = {kMemory, kMemory};
    setrlimit(RLIMIT_CORE, &no_core);
    setrlimit(RLIMIT_DATA, &memory);
    const itimerval limit = {{0, 0}, {milliseconds / 1000, milliseconds % 1000 * 1000}};
    setitimer(ITIMER_PROF, &limit, nullptr);
    chosen = mistake;
    const int status = work_(what);
    _exit(status == 0 ? 0 : 1);
  }

  // The limit counts what the process has computed; of waiting there may be five times as much.
  void run(int mistake, long milliseconds, const std::string& what) {
    std::memset(shared_->reached, 0, sizeof(shared_->reached));
    shared_->name[0] = '\0';
    const long begun = now();
    const pid_t child = fork();
    if (child == 0) work(mistake, milliseconds, what);
    const int handle = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
    bool stalled = false, late = false;
    for (long waited = 0;;) {
      const long looked = now();
      pollfd ended = {handle, POLLIN, 0};
      if (poll(&ended, 1, kSlice) > 0) break;
      const long passed = (now() - looked) / 1000;
      stalled = stalled || passed > kStalled;
      waited += passed < 2 * kSlice ? passed : kSlice;
      if (waited > 5 * milliseconds) {
        late = true;
        kill(child, SIGKILL);
      }
    }
    close(handle);
    int status = 0;
    waitpid(child, &status, 0);
    end_all();
    const bool limited = late || (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF);
    answer(limited ? 2 : status == 0 ? 0 : 1, now() - begun, stalled, mistake == 0);
  }

  static void end_all() {
    for (int tries = 0; tries < 1000; ++tries) {
      FILE* const list = std::fopen("/proc/thread-self/children", "r");
      int left = 0;
      for (pid_t other = 0; list != nullptr && std::fscanf(list, "%d", &other) == 1; ++left) kill(other, SIGKILL);
      if (list != nullptr) std::fclose(list);
      if (left == 0) return;
      while (left-- > 0) waitpid(-1, nullptr, 0);
    }
  }

  void answer(int ended, long microseconds, bool stalled, bool with_reached) {
    const char* const name = shared_->name[0] != '\0' ? shared_->name : "-";
    std::fprintf(answers_, "%d %ld %d %s", ended, microseconds, stalled ? 1 : 0, name);
    for (int number = 0; with_reached && number < kMost; ++number) {
      if (shared_->reached[number] != 0) std::fprintf(answers_, " %d", number);
    }
    std::fprintf(answers_, "\n");
    std::fflush(answers_);
  }

  const Work work_;
  Shared* shared_ = nullptr;
  FILE* answers_ = nullptr;
};

// MUTANT=17: an ordinary run with that mistake; MUTANT=serve: a server.
inline bool is_server() {
  const char* const value = std::getenv("MUTANT");
  if (value == nullptr) return false;
  if (std::strcmp(value, "serve") == 0) return true;
  chosen = std::atoi(value);
  return false;
}

}  // namespace mutants
