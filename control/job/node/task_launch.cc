#include "control/job/node/task_launch.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

namespace openlapi {
namespace {

constexpr rlim_t kOpenFilesPerTask = 5;  // pipes, pidfd, the client's connection
constexpr rlim_t kOpenFilesBeside = 64;

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

bool open_pipe(FileDescriptor& reading, FileDescriptor& writing) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  reading.reset(ends[0]);
  writing.reset(ends[1]);
  return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

}  // namespace

void OpenFileLimit::raise_for(std::size_t tasks) {
  if (getrlimit(RLIMIT_NOFILE, &given_) != 0) return;
  rlimit raised = given_;
  const rlim_t wanted = tasks * kOpenFilesPerTask + kOpenFilesBeside;
  if (raised.rlim_cur >= wanted) return;
  raised.rlim_cur = raised.rlim_max < wanted ? raised.rlim_max : wanted;
  setrlimit(RLIMIT_NOFILE, &raised);
}

bool launch_task(const TaskLaunch& launch, std::uint32_t number, std::vector<std::string> environment,
                 const std::vector<unsigned>& processors, int input, LaunchedTask& task, std::string& error) {
  std::vector<std::string> words = launch.arguments;
  const std::vector<char*> arguments = pointers(words);
  const std::vector<char*> variables = pointers(environment);
  FileDescriptor output, errors;
  FileDescriptor null(input >= 0 ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!open_pipe(task.output, output) || !open_pipe(task.errors, errors) || (input < 0 && !null.is_open())) {
    error = "cannot start task " + std::to_string(number) + ": " + std::strerror(errno);
    return false;
  }
  const TaskStart start{program_name(launch.launcher),
                        launch.program.c_str(),
                        arguments.data(),
                        variables.data(),
                        launch.directory.empty() ? nullptr : launch.directory.c_str(),
                        &processors,
                        &launch.signals,
                        &launch.open_files,
                        input >= 0 ? input : null.get(),
                        output.get(),
                        errors.get()};
  return task.process.start(number, start, error);
}

}  // namespace openlapi
