// lam_ssi_boot_base_ioexecvp.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "api/lam-ssi-boot.h"
#include "control/boot/boot_error.h"
#include "control/launch/file_descriptor.h"

namespace openlapi::boot {
namespace {

// Where a command's standard output goes.
class OutputSink {
 public:
  OutputSink(bool show, char* buffer, int size)
      : show_(show), buffer_(buffer), room_(buffer == nullptr ? 0 : size - 1) {
    if (room_ >= 0 && buffer_ != nullptr) buffer_[0] = '\0';
  }

  void take(const char* bytes, std::size_t count) {
    if (show_) {
      std::fwrite(bytes, 1, count, stdout);
      std::fflush(stdout);
    }
    const int kept = std::min(room_, static_cast<int>(count));
    if (kept <= 0) return;
    std::memcpy(buffer_, bytes, static_cast<std::size_t>(kept));
    buffer_ += kept;
    room_ -= kept;
    *buffer_ = '\0';
  }

 private:
  bool show_;
  char* buffer_;
  int room_;  // without the terminating zero
};

pid_t spawn(char** command, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  pid_t child = -1;
  const int error = posix_spawnp(&child, command[0], &actions, nullptr, command, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) fail(std::string(command[0]) + " cannot be started", error);
  return child;
}

// Reads what is there; false: the pipe has ended.
bool read_some(int pipe, OutputSink& sink) {
  char bytes[4096];
  const ssize_t count = read(pipe, bytes, sizeof bytes);
  if (count > 0) sink.take(bytes, static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && (errno == EINTR || errno == EAGAIN));
}

// Until the command has ended; a daemon that it left behind may hold the pipe for ever.
void forward_output(int pipe, int process, OutputSink& sink) {
  pollfd watched[] = {{process, POLLIN, 0}, {pipe, POLLIN, 0}};
  bool ended = false;
  while (!ended) {
    if (poll(watched, 2, -1) < 0 && errno != EINTR) fail("poll", errno);
    ended = watched[0].revents != 0;
    if (watched[1].revents != 0 && !read_some(pipe, sink)) watched[1].fd = -1;
  }
  while (watched[1].fd >= 0 && poll(&watched[1], 1, 0) == 1 && read_some(pipe, sink)) {
  }
}

void check_status(const char* name, int status) {
  if (WIFSIGNALED(status))
    throw BootError(std::string(name) + " was ended by signal " + std::to_string(WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0) {
    throw BootError(std::string(name) + " ended with status " + std::to_string(WEXITSTATUS(status)));
  }
}

void execute(char** command, OutputSink& sink) {
  if (command == nullptr || command[0] == nullptr) throw BootError("lam_ssi_boot_base_ioexecvp: no command");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail("pipe", errno);
  const FileDescriptor reader(ends[0]);
  pid_t child = -1;
  {
    const FileDescriptor writer(ends[1]);
    child = spawn(command, writer.get());
  }
  // glibc 2.36 declares pidfd_open as a C++ function.
  const FileDescriptor process(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  if (process.get() >= 0) forward_output(reader.get(), process.get(), sink);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  check_status(command[0], status);
}

}  // namespace
}  // namespace openlapi::boot

int lam_ssi_boot_base_ioexecvp(char** cmdv, int showout, char* outbuff, int outbuffsize) {
  return openlapi::boot::guarded(LAMERROR, [&] {
    openlapi::boot::OutputSink sink(showout != 0, outbuffsize > 0 ? outbuff : nullptr, outbuffsize);
    openlapi::boot::execute(cmdv, sink);
    return 0;
  });
}
