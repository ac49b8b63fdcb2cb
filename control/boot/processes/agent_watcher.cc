#include "control/boot/processes/agent_watcher.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "control/base/fork_failure.h"
#include "control/base/process_handle.h"
#include "control/boot/errors/boot_error.h"
#include "control/boot/processes/pipe.h"

namespace openlapi::boot {
namespace {

// The watcher's whole life; other threads were running when it was forked, so it must not allocate. It keeps nothing
// open but its two files, so that other watchers see their writers' ends, and nobody waits for its outputs.
[[noreturn]] void watch(int alive, int process) {
  // Signals by a terminal or by name are for the booting agent.
  setsid();
  prctl(PR_SET_NAME, "agent_guard");
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) signal(number, SIG_IGN);
  // Above both, so that neither is overwritten.
  const int high_alive = fcntl(alive, F_DUPFD, 10), high_process = fcntl(process, F_DUPFD, 10);
  dup2(high_alive, 0);
  dup2(high_process, 1);
  close_range(2, ~0U, 0);
  char byte = 0;
  ssize_t count = 0;
  while ((count = read(0, &byte, 1)) < 0 && errno == EINTR) {
  }
  if (count != 1) end_process(1);
  _exit(0);
}

}  // namespace

AgentWatcher::AgentWatcher(int process) {
  Pipe pipe = make_pipe();
  alive_ = std::move(pipe.writer);
  watcher_ = fork();
  if (watcher_ == 0) watch(pipe.reader.get(), process);
  if (watcher_ < 0) throw BootError("an agent cannot be watched: " + fork_failure(errno));
}

AgentWatcher::~AgentWatcher() {
  alive_.reset();
  await_child(watcher_);
}

void AgentWatcher::let_go() {
  const char byte = 0;
  while (write(alive_.get(), &byte, 1) < 0 && errno == EINTR) {
  }
}

}  // namespace openlapi::boot
