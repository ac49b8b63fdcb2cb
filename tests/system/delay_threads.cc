// Runs a program and holds its threads back at random points: of all threads that the program has, its own and those
// of libraries, one after the other is stopped wherever it is, for up to some milliseconds, while the others go on.
// What is only right when a thread comes in time is wrong then.
//
//   delay_threads SEED PROGRAM [ARGUMENTS...]
//
// It traces the program, so nothing in the program has to know of it, and ends as the program does.
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

struct Thread {
  bool interrupted = false;       // it will stop, and is to be held then
  Clock::time_point held_until{};  // zero: it runs
};

class Tracer {
 public:
  Tracer(pid_t program, unsigned seed) : program_(program), random_(seed) { threads_[program]; }

  // Until the program has ended; its status, as of a shell.
  int run() {
    for (;;) {
      take_stops();
      if (ended_) break;
      hold_one();
      release();  // behind it, so that a thread runs between two stops
      std::this_thread::sleep_for(microseconds(between(50, 500)));
    }
    return status_;
  }

 private:
  long between(long least, long most) { return std::uniform_int_distribution<long>(least, most)(random_); }

  void take_stops() {
    int status = 0;
    for (pid_t thread; !ended_ && (thread = waitpid(-1, &status, __WALL | WNOHANG)) != 0;) {
      if (thread < 0) {
        if (errno == EINTR) continue;
        ended_ = true;  // nobody is left
      } else if (WIFSTOPPED(status)) {
        stopped(thread, status);
      } else {
        gone(thread, status);
      }
    }
  }

  // A thread that is new, was interrupted, or is to get a signal.
  void stopped(pid_t thread, int status) {
    Thread& state = threads_[thread];
    const int event = status >> 16;
    if (event == PTRACE_EVENT_STOP && state.interrupted) {
      state.interrupted = false;
      state.held_until = Clock::now() + microseconds(between(1, 1 << between(6, 13)));
      return;
    }
    ptrace(PTRACE_CONT, thread, nullptr, event == 0 ? WSTOPSIG(status) : 0);
  }

  void gone(pid_t thread, int status) {
    threads_.erase(thread);
    if (thread != program_) return;
    status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    ended_ = true;
  }

  void release() {
    for (auto& [thread, state] : threads_) {
      if (state.held_until == Clock::time_point{} || state.held_until > Clock::now()) continue;
      state.held_until = {};
      ptrace(PTRACE_CONT, thread, nullptr, nullptr);
    }
  }

  // Or none: the only thread that is left would be stopped again and again before it has run at all.
  void hold_one() {
    auto chosen = threads_.begin();
    std::advance(chosen, between(0, static_cast<long>(threads_.size())));
    if (chosen == threads_.end()) return;
    Thread& state = chosen->second;
    if (state.interrupted || state.held_until != Clock::time_point{}) return;
    state.interrupted = ptrace(PTRACE_INTERRUPT, chosen->first, nullptr, nullptr) == 0;
  }

  const pid_t program_;
  std::mt19937 random_;
  std::map<pid_t, Thread> threads_;
  bool ended_ = false;
  int status_ = 1;
};

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    std::fprintf(stderr, "usage: delay_threads SEED PROGRAM [ARGUMENTS...]\n");
    return 2;
  }
  int begin[2];
  if (pipe(begin) != 0) return 2;
  const pid_t program = fork();
  if (program == 0) {
    char byte = 0;
    close(begin[1]);
    if (read(begin[0], &byte, 1) != 1) _exit(2);
    close(begin[0]);
    // A process that is traced cannot be looked through for leaks.
    const char* const given = std::getenv("ASAN_OPTIONS");
    setenv("ASAN_OPTIONS", ((given == nullptr ? "" : given) + std::string(":detect_leaks=0")).c_str(), 1);
    execv(arguments[2], arguments + 2);
    std::perror(arguments[2]);
    _exit(127);
  }
  if (ptrace(PTRACE_SEIZE, program, nullptr, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL) != 0) {
    std::perror("delay_threads: the program cannot be traced");
    kill(program, SIGKILL);
    return 2;
  }
  if (write(begin[1], "", 1) != 1) return 2;
  close(begin[0]);
  close(begin[1]);
  // What ends the tracer ends the program, but a signal for both is the program's to answer.
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_IGN);
  return Tracer(program, static_cast<unsigned>(std::atoi(arguments[1])) + static_cast<unsigned>(getpid())).run();
}
