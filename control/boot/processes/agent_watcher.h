// A process that ends an agent if this process ends, in whatever way, before the agent may be left alone: nobody else
// would then keep the agent's time limit.
#pragma once

#include <sys/types.h>

#include "dataplane/base/file_descriptor.h"

namespace openlapi::boot {

class AgentWatcher {
 public:
  // `process`: the agent's pidfd. From now on a child process watches. Throws BootError.
  explicit AgentWatcher(int process);
  // Ends the agent (end_process()) unless it was let go or has ended.
  ~AgentWatcher();
  AgentWatcher(const AgentWatcher&) = delete;
  AgentWatcher& operator=(const AgentWatcher&) = delete;

  void let_go();

 private:
  FileDescriptor alive_{};  // closed without a byte: this process has ended
  pid_t watcher_ = -1;
};

}  // namespace openlapi::boot
