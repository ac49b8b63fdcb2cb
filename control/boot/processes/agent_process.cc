#include "control/boot/processes/agent_process.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "control/base/deadline.h"
#include "control/base/fork_failure.h"
#include "control/base/process_handle.h"
#include "control/base/spawned_program.h"
#include "control/boot/errors/boot_error.h"
#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/processes/agent_watcher.h"
#include "control/boot/processes/bound_process.h"
#include "control/boot/processes/munge_credential.h"
#include "control/boot/processes/pipe.h"
#include "control/boot/schemas/schema_words.h"
#include "control/boot/startup/boot_key.h"
#include "dataplane/base/whole_number.h"

namespace openlapi::boot {
namespace {

constexpr std::size_t kMostKept = 64 << 10;
constexpr int kLongestTime = 86400;

int status_for_shells(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

pid_t spawn_in_session(const std::vector<std::string>& words, const SpawnedStreams& streams) {
  pid_t child = -1;
  const int error = spawn_program(words[0].c_str(), exec_words(words).data(), streams, SpawnedSession::kOwn, child);
  if (error != 0) throw BootError(words[0] + " cannot be started: " + fork_failure(error));
  return child;
}

// False: it has ended.
bool read_some(int pipe, std::string& kept) {
  char bytes[4096];
  const ssize_t count = read(pipe, bytes, sizeof bytes);
  if (count > 0) kept.append(bytes, std::min(static_cast<std::size_t>(count), kMostKept - kept.size()));
  return count > 0 || (count < 0 && (errno == EINTR || errno == EAGAIN));
}

FileDescriptor nameless_file() {
  FileDescriptor file(static_cast<int>(syscall(SYS_memfd_create, "outputs", MFD_CLOEXEC)));
  if (!file.is_open()) throw BootError(std::string("memfd_create: ") + std::strerror(errno));
  return file;
}

// Until the process has ended; then what is in the pipes.
void read_outputs(BoundProcess& process, const FileDescriptor& output, const FileDescriptor& errors,
                  std::chrono::seconds limit, AgentResult& result) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  pollfd watched[] = {{output.get(), POLLIN, 0}, {errors.get(), POLLIN, 0}, {process.handle(), POLLIN, 0}};
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
      process.kill_now();
    }
  }
}

// False: it has ended without, or (result.too_slow) the time is over.
bool gives_sign(int process, const FileDescriptor& output, std::string_view sign, std::chrono::seconds limit,
                AgentResult& result) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  pollfd watched[] = {{output.get(), POLLIN, 0}, {process, POLLIN, 0}};
  while (true) {
    const int ready = poll(watched, 2, milliseconds_until(deadline));
    if (ready < 0 && errno != EINTR) throw BootError(std::string("poll: ") + std::strerror(errno));
    if (ready > 0 && watched[0].fd >= 0 && watched[0].revents != 0) {
      if (!read_some(output.get(), result.output)) watched[0].fd = -1;
      if (result.output.find(sign) != std::string::npos) return true;
    } else if (ready > 0 && watched[1].revents != 0) {
      return false;
    }
    result.too_slow = std::chrono::steady_clock::now() >= deadline;
    if (result.too_slow) return false;
  }
}

}  // namespace

FileDescriptor pipe_with(std::string_view text) {
  Pipe in = make_pipe();
  if (write(in.writer.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw BootError(std::string("a pipe cannot be filled: ") + std::strerror(errno));
  }
  return std::move(in.reader);
}

FileDescriptor input_for(const std::string& program, AgentInput input) {
  if (input == AgentInput::kSealedKey) {
    const StartupKey& key = boot_key();
    return pipe_with(seal_by_munge({reinterpret_cast<const char*>(key.data()), key.size()}) + "\n");
  }
  Pipe in = make_pipe();
  if (input == AgentInput::kKey && lam_ssi_boot_base_write_key(in.writer.get()) != 0) {
    throw BootError("the key cannot be passed to " + program);
  }
  return std::move(in.reader);
}

AgentResult run_agent(const std::vector<std::string>& words, AgentInput input, std::chrono::seconds limit) {
  return run_agent(words, input_for(words[0], input), limit);
}

AgentResult run_agent(const std::vector<std::string>& words, const FileDescriptor& in, std::chrono::seconds limit) {
  Pipe out = make_pipe(), err = make_pipe();
  BoundProcess process(words, in.get(), out.writer.get(), err.writer.get());
  for (FileDescriptor* ours : {&out.writer, &err.writer}) ours->reset();
  AgentResult result;
  read_outputs(process, out.reader, err.reader, limit, result);
  result.status = status_for_shells(process.await());
  return result;
}

AgentResult run_agent_until(const std::vector<std::string>& words, AgentInput input, std::string_view sign,
                            std::chrono::seconds limit) {
  const FileDescriptor in = input_for(words[0], input);
  Pipe out = make_pipe();
  // No pipe: it may write there when nobody reads any more.
  const FileDescriptor errors = nameless_file();
  const pid_t child = spawn_in_session(words, {in.get(), out.writer.get(), errors.get()});
  out.writer.reset();
  AgentResult result;
  const FileDescriptor process = process_handle(child);
  AgentWatcher watcher(process.get());
  result.goes_on = gives_sign(process.get(), out.reader, sign, limit, result);
  if (result.goes_on || !result.too_slow) watcher.let_go();
  if (result.goes_on) return result;
  if (result.too_slow) end_process(process.get());
  result.status = status_for_shells(await_child(child));
  result.errors.resize(kMostKept);
  const ssize_t length = pread(errors.get(), result.errors.data(), kMostKept, 0);
  result.errors.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
  return result;
}

std::chrono::seconds agent_time(const std::string& variable) {
  const char* value = std::getenv(variable.c_str());
  if (value == nullptr) return kAgentTime;
  const auto seconds = whole_number(value, 1, kLongestTime);
  if (!seconds) {
    throw BootError(variable + " is " + shown(value) + "; allowed: seconds, 1 to " + std::to_string(kLongestTime));
  }
  return std::chrono::seconds(*seconds);
}

std::string in_one_line(std::string_view text) {
  std::string line;
  for (const char letter : text) {
    if (letter == '\r') continue;
    if (letter != '\n') {
      line += static_cast<unsigned char>(letter) < ' ' ? '?' : letter;
    } else if (!line.empty() && !line.ends_with("; ")) {
      line += "; ";
    }
  }
  if (line.ends_with("; ")) line.resize(line.size() - 2);
  constexpr std::size_t kLongest = 400;
  if (line.size() > kLongest) line = line.substr(0, kLongest) + "...";
  return line;
}

std::string glued(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

}  // namespace openlapi::boot
