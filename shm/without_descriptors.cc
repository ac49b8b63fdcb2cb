#include "shm/without_descriptors.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace openlapi::shm {
namespace {

constexpr int kRoom = 64;  // more than a child needs

[[noreturn]] void be_child(pid_t parent, const std::function<void()>& body) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  for (int descriptor = 0; descriptor < kRoom; ++descriptor) close(descriptor);
  body();
  _exit(0);
}

}  // namespace

void run_without_descriptors(const std::function<void()>& body) {
  const pid_t self = getpid();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the child runs none of the program's handlers
  const pid_t child = fork();
  if (child == 0) be_child(self, body);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  // A program that waits for any child may be faster.
  while (child > 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace openlapi::shm
