#include "control/boot/processes/bound_process.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "control/base/fork_failure.h"
#include "control/base/process_handle.h"
#include "control/base/spawned_program.h"
#include "control/boot/errors/boot_error.h"
#include "control/boot/processes/pipe.h"

namespace openlapi::boot {
namespace {

// What a new process does until it is the program; it has no other thread, and must not allocate. Until it is watched
// it has started nothing, and SIGKILL is right for it. From then on it gets SIGTERM when the thread that waits for it
// ends: the watcher's SIGTERM a moment earlier, also where the watcher was killed with this process.
[[noreturn]] void become(char* const* argv, const int (&streams)[3], int watched, int failure, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  char byte = 0;
  if (getppid() != parent || read(watched, &byte, 1) != 1) _exit(1);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  for (int fd = 0; fd < 3; ++fd) dup2(streams[fd], fd);
  execvp(argv[0], argv);
  const int error = errno;
  [[maybe_unused]] const ssize_t ignored = write(failure, &error, sizeof error);
  _exit(127);
}

}  // namespace

BoundProcess::BoundProcess(const std::vector<std::string>& words, int input, int output, int errors) {
  const std::vector<char*> argv = exec_words(words);
  Pipe watched = make_pipe(), failure = make_pipe();
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ == 0) {
    become(argv.data(), {input, output, errors}, watched.reader.get(), failure.writer.get(), parent);
  }
  if (process_ < 0) throw BootError(words[0] + " cannot be started: " + fork_failure(errno));
  failure.writer.reset();
  watch();
  const char byte = 0;
  [[maybe_unused]] const ssize_t ignored = write(watched.writer.get(), &byte, 1);
  int error = 0;
  if (read(failure.reader.get(), &error, sizeof error) != sizeof error) return;
  await();
  throw BootError(words[0] + " cannot be started: " + fork_failure(error));
}

void BoundProcess::watch() {
  try {
    handle_ = process_handle(process_);
    if (!handle_.is_open()) throw BootError(std::string("pidfd_open: ") + std::strerror(errno));
    watcher_.emplace(handle_.get());
  } catch (...) {
    kill_now();
    await();
    throw;
  }
}

BoundProcess::~BoundProcess() {
  watcher_.reset();
  if (process_ > 0) await();
}

void BoundProcess::kill_now() {
  if (process_ > 0) kill(process_, SIGKILL);
}

int BoundProcess::await() { return await_child(std::exchange(process_, -1)); }

}  // namespace openlapi::boot
