// Sees to it that a job leaves nothing behind, however lapirun ends.
//
// A small watcher process waits for the end of a pipe whose other end only lapirun has. When lapirun is gone without a
// good-bye (SIGKILL), the watcher kills the tasks' process groups and removes the job's directories.
#pragma once

#include <sys/types.h>

#include <string>

#include "dataplane/base/file_descriptor.h"

namespace openlapi {

class JobCleanup {
 public:
  JobCleanup() = default;
  ~JobCleanup() { close(); }
  JobCleanup(const JobCleanup&) = delete;
  JobCleanup& operator=(const JobCleanup&) = delete;

  // Before the process has a second thread: the watcher is forked. Makes the job's directory in `parent`, for this user
  // only.
  bool open(const std::string& parent, std::string& error);

  const std::string& directory() const { return directory_; }

  // Another one, in memory, for files that tasks share; empty: this machine has no place for such.
  const std::string& memory_directory() const { return memory_directory_; }

  // The watcher must know a group as long as it may have members.
  void add_group(pid_t group) { tell('+', group); }
  void remove_group(pid_t group) { tell('-', group); }

  // Removes the directories and ends the watcher.
  void close();

 private:
  void tell(char what, pid_t group);

  FileDescriptor pipe_;
  pid_t watcher_ = 0;
  std::string directory_, memory_directory_;
};

}  // namespace openlapi
