// Task 0's standard input. A file or pipe is handed over as it is. A terminal is not: the task is in a process group of
// its own and would be stopped when it reads, so lapirun reads for it, as long as it is in the foreground.
#pragma once

#include <string>

#include "control/base/file_descriptor.h"
#include "control/base/poll_set.h"

namespace openlapi {

class StandardInput {
 public:
  bool open(std::string& error);

  // What task 0 starts with.
  int task_end() const { return task_end_.get(); }
  // Once task 0 has it.
  void close_task_end() { task_end_.reset(); }

  void watch(PollSet& poll_set);

 private:
  void read_terminal();
  void pass_on();

  FileDescriptor task_end_;
  FileDescriptor pipe_;  // open: read the terminal and write here
  std::string waiting_;
};

}  // namespace openlapi
