// A program that this thread runs and waits for. It is ended if this process ends before it, in whatever way.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "control/boot/processes/agent_watcher.h"
#include "dataplane/base/file_descriptor.h"

namespace openlapi::boot {

class BoundProcess {
 public:
  // Starts it, with these for standard streams. Throws BootError.
  BoundProcess(const std::vector<std::string>& words, int input, int output, int errors);
  // It is ended unless it was waited for.
  ~BoundProcess();
  BoundProcess(const BoundProcess&) = delete;
  BoundProcess& operator=(const BoundProcess&) = delete;

  // A pidfd: readable when it has ended.
  int handle() const { return handle_.get(); }
  void kill_now();
  // Its status, as waitpid has it.
  int await();

 private:
  void watch();

  pid_t process_ = -1;  // -1: it was waited for
  FileDescriptor handle_{};
  std::optional<AgentWatcher> watcher_{};
};

}  // namespace openlapi::boot
