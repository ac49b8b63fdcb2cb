// Ends an agent that is to outlive this process when this process ends before it may: killed by anything, it leaves
// nobody else who would keep the agent's time limit.
#pragma once

#include <sys/types.h>

#include "dataplane/base/file_descriptor.h"

namespace openlapi::boot {

class AgentWatcher {
 public:
  // `process` is a handle of the agent (pidfd). A process of its own watches from now on. Throws BootError.
  explicit AgentWatcher(int process);
  // The agent is ended (end_process) unless it was let go or has ended.
  ~AgentWatcher();
  AgentWatcher(const AgentWatcher&) = delete;
  AgentWatcher& operator=(const AgentWatcher&) = delete;

  void let_go();

 private:
  FileDescriptor alive_{};  // closed without a byte: this process has ended
  pid_t watcher_ = -1;
};

}  // namespace openlapi::boot
