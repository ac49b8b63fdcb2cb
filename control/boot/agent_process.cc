#include "control/boot/agent_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "api/lam-ssi-boot.h"
#include "control/boot/boot_error.h"
#include "control/launch/file_descriptor.h"

namespace openlapi::boot {
namespace {

constexpr std::size_t kMostKept = 64 << 10;

struct Pipe {
  FileDescriptor reader{}, writer{};
};

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw BootError(std::string("pipe: ") + std::strerror(errno));
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

pid_t spawn(const std::vector<std::string>& words, int input, int output, int errors) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  pid_t child = -1;
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw BootError(words[0] + " cannot be started: " + std::strerror(error));
  return child;
}

// False: it has ended.
bool read_some(int pipe, std::string& kept) {
  char bytes[4096];
  const ssize_t count = read(pipe, bytes, sizeof bytes);
  if (count > 0) kept.append(bytes, std::min(static_cast<std::size_t>(count), kMostKept - kept.size()));
  return count > 0 || (count < 0 && (errno == EINTR || errno == EAGAIN));
}

int milliseconds_until(std::chrono::steady_clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<decltype(left)>(left, 0, 60'000));
}

// Until the process has ended; then what is in the pipes.
void read_outputs(int process, const FileDescriptor& output, const FileDescriptor& errors, pid_t child,
                  std::chrono::seconds limit, AgentResult& result) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  pollfd watched[] = {{output.get(), POLLIN, 0}, {errors.get(), POLLIN, 0}, {process, POLLIN, 0}};
  std::string* const kept[] = {&result.output, &result.errors};
  bool running = true;
  while (true) {
    const int ready = poll(watched, 3, running ? milliseconds_until(deadline) : 0);
    if (ready < 0 && errno != EINTR) throw BootError(std::string("poll: ") + std::strerror(errno));
    bool was_read = false;
    for (int n = 0; ready > 0 && n < 2; ++n) {
      if (watched[n].fd < 0 || watched[n].revents == 0) continue;
      was_read = true;
      if (!read_some(watched[n].fd, *kept[n])) watched[n].fd = -1;
    }
    if (!running && !was_read) return;
    if (ready > 0 && watched[2].revents != 0) {
      running = false;
      watched[2].fd = -1;
    }
    if (running && !result.too_slow && std::chrono::steady_clock::now() >= deadline) {
      result.too_slow = true;
      kill(child, SIGKILL);
    }
  }
}

}  // namespace

AgentResult run_agent(const std::vector<std::string>& words, AgentInput input, std::chrono::seconds limit) {
  Pipe in = make_pipe(), out = make_pipe(), err = make_pipe();
  if (input == AgentInput::kKey && lam_ssi_boot_base_write_key(in.writer.get()) != 0) {
    throw BootError("the key cannot be passed to " + words[0]);
  }
  in.writer.reset();
  const pid_t child = spawn(words, in.reader.get(), out.writer.get(), err.writer.get());
  for (FileDescriptor* ours : {&in.reader, &out.writer, &err.writer}) ours->reset();
  AgentResult result;
  // glibc 2.36 declares pidfd_open as a C++ function.
  const FileDescriptor process(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  read_outputs(process.get(), out.reader, err.reader, child, limit, result);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

std::string glued(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

}  // namespace openlapi::boot
