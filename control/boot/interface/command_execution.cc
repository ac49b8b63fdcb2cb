// lam_ssi_boot_base_ioexecvp, as the specification has it and as LAM 7.1 has it, and LAM's _lam_few: modules start
// daemons through them, so the key of the boot is on the standard input of what they run.
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#define LAM_SSI_BOOT_1_1_0
#include "control/boot/errors/boot_error.h"
#include "control/boot/include/etc_misc.h"
#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/include/sfh.h"
#include "control/boot/processes/agent_process.h"
#include "control/boot/processes/bound_process.h"

namespace openlapi::boot {
namespace {

// Where a command's standard output goes.
class OutputSink {
 public:
  OutputSink(bool show, char* buffer, int size)
      : show_(show), buffer_(size > 0 ? buffer : nullptr), room_(buffer_ == nullptr ? 0 : size - 1) {
    if (buffer_ != nullptr) buffer_[0] = '\0';
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

// Where its standard error goes, when it does not share ours: there all the same.
class ErrorSink {
 public:
  void take(const char* bytes, std::size_t count) {
    std::fwrite(bytes, 1, count, stderr);
    was_used_ = true;
  }
  bool was_used() const { return was_used_; }

 private:
  bool was_used_ = false;
};

struct Outlets {
  FileDescriptor reader{}, writer{};
  void open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) fail("pipe", errno);
    reader = FileDescriptor(ends[0]);
    writer = FileDescriptor(ends[1]);
  }
};

std::vector<std::string> words_of(char** command) { return {command, command + sfh_argv_count(command)}; }

// Reads what is there; false: the pipe has ended.
template <typename Sink>
bool read_some(int pipe, Sink& sink) {
  char bytes[4096];
  const ssize_t count = read(pipe, bytes, sizeof bytes);
  if (count > 0) sink.take(bytes, static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && (errno == EINTR || errno == EAGAIN));
}

// Until the command has ended; a daemon that it left behind may hold the pipes for ever.
void forward_outputs(int process, int output, int errors, OutputSink& sink, ErrorSink& error_sink) {
  pollfd watched[] = {{output, POLLIN, 0}, {errors, POLLIN, 0}, {process, POLLIN, 0}};
  bool ended = false;
  while (true) {
    const int ready = poll(watched, 3, ended ? 0 : -1);
    if (ready < 0 && errno != EINTR) fail("poll", errno);
    if (ready <= 0 && ended) return;
    if (ready <= 0) continue;
    if (watched[0].revents != 0 && !read_some(watched[0].fd, sink)) watched[0].fd = -1;
    if (watched[1].revents != 0 && !read_some(watched[1].fd, error_sink)) watched[1].fd = -1;
    if (watched[2].revents != 0) {
      ended = true;
      watched[2].fd = -1;
    }
  }
}

void check_status(const char* name, int status) {
  if (WIFSIGNALED(status))
    throw BootError(std::string(name) + " was ended by signal " + std::to_string(WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0) {
    throw BootError(std::string(name) + " ended with status " + std::to_string(WEXITSTATUS(status)));
  }
}

void check_command(char** command, const char* function) {
  if (command == nullptr || command[0] == nullptr) throw BootError(std::string(function) + ": no command");
}

// Returns its status, as waitpid has it. `error_sink`: nullptr: its standard error is ours.
int execute(char** command, OutputSink& sink, ErrorSink* error_sink) {
  check_command(command, "lam_ssi_boot_base_ioexecvp");
  Outlets output, errors;
  output.open();
  if (error_sink != nullptr) errors.open();
  const FileDescriptor input = input_for(command[0], AgentInput::kKey);
  BoundProcess process(words_of(command), input.get(), output.writer.get(),
                       error_sink == nullptr ? STDERR_FILENO : errors.writer.get());
  output.writer.reset();
  errors.writer.reset();
  ErrorSink unused;
  forward_outputs(process.handle(), output.reader.get(), errors.reader.get(), sink,
                  error_sink == nullptr ? unused : *error_sink);
  return process.await();
}

// LAM's modules look at errno: EFAULT for what was said on standard error, else the command's status.
int execute_as_lam(char** command, OutputSink& sink, bool stderr_is_err) {
  ErrorSink errors;
  int error = ENOENT;
  const int result = catch_errors(LAMERROR, [&] {
    const int status = execute(command, sink, &errors);
    error = WIFEXITED(status) && WEXITSTATUS(status) > 1 ? WEXITSTATUS(status) : ECANCELED;
    check_status(command[0], status);
    if (!errors.was_used() || !stderr_is_err) return 0;
    error = EFAULT;
    throw BootError(std::string(command[0]) + " wrote to standard error");
  });
  if (result != 0) errno = error;
  return result;
}

}  // namespace
}  // namespace openlapi::boot

using namespace openlapi::boot;

extern "C" LAM_SSI_PUBLIC int lam_ssi_boot_base_ioexecvp_1_0_0(char** cmdv, int showout, char* outbuff,
                                                               int outbuffsize) {
  return catch_errors(LAMERROR, [&] {
    OutputSink sink(showout != 0, outbuff, outbuffsize);
    const int status = execute(cmdv, sink, nullptr);
    check_status(cmdv[0], status);
    return 0;
  });
}

int lam_ssi_boot_base_ioexecvp(char** cmdv, int showout, char* outbuff, int outbuffsize, int stderr_is_err) {
  OutputSink sink(showout != 0, outbuff, outbuffsize);
  const int result = execute_as_lam(cmdv, sink, stderr_is_err != 0);
  const int error = errno;
  sfh_argv_free(cmdv);
  errno = error;
  return result;
}

int _lam_few(char** argv) {
  return catch_errors(LAMERROR, [&] {
    check_command(argv, "_lam_few");
    const openlapi::FileDescriptor input = input_for(argv[0], AgentInput::kKey);
    const int status = BoundProcess(words_of(argv), input.get(), STDOUT_FILENO, STDERR_FILENO).await();
    return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  });
}
