// Starts one task with pipes for its output.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <string>
#include <vector>

#include "control/job/node/signal_source.h"
#include "control/job/node/task_process.h"
#include "control/job/options/job_options.h"
#include "dataplane/base/file_descriptor.h"

namespace openlapi {

// A launcher needs descriptors for each task; the tasks start with the limit that it was given.
class OpenFileLimit {
 public:
  void raise_for(std::size_t tasks);
  const rlimit& given() const { return given_; }

 private:
  rlimit given_{};
};

// What all tasks of a node have in common.
struct TaskLaunch {
  Launcher launcher;
  const std::string& program;                 // what is executed
  const std::vector<std::string>& arguments;  // the first is the name that it is given
  const std::string& directory;               // empty: the launcher's own
  const SignalSource& signals;
  const rlimit& open_files;
};

struct LaunchedTask {
  TaskProcess process{};
  FileDescriptor output{};  // reading ends, non-blocking
  FileDescriptor errors{};
};

// `environment`: NAME=value; `processors`: empty: not bound; `input`: -1: an empty file.
bool launch_task(const TaskLaunch& launch, std::uint32_t number, std::vector<std::string> environment,
                 const std::vector<unsigned>& processors, int input, LaunchedTask& task, std::string& error);

}  // namespace openlapi
