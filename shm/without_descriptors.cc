#include "shm/without_descriptors.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace openlapi::shm {
namespace {

// Of the program's signals only this one is let in.
void end_after(unsigned seconds) {
  signal(SIGALRM, SIG_DFL);
  sigset_t alarms;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &alarms, nullptr);
  alarm(seconds);
}

[[noreturn]] void be_child(pid_t parent, unsigned seconds, const std::function<void()>& body) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  end_after(seconds);
  close_range(0, ~0U, 0);
  try {
    body();
  } catch (...) {  // the callers are the parent's
    _exit(1);
  }
  _exit(0);
}

}  // namespace

void run_without_descriptors(unsigned seconds, const std::function<void()>& body) {
  const pid_t self = getpid();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the child runs none of the program's handlers
  const pid_t child = fork();
  if (child == 0) be_child(self, seconds, body);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  // A program that waits for any child may be faster.
  while (child > 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace openlapi::shm
