#include "control/boot/boot_error.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <sstream>

#include "control/boot/kept_errors.h"
#include "control/launch/file_descriptor.h"

namespace openlapi::boot {
namespace {

std::mutex kept_mutex;
std::optional<std::vector<std::string>> kept;
FileDescriptor standard_error;  // what others have written there

// Who writes more than the pipe takes loses the rest, rather than wait.
FileDescriptor take_standard_error() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return FileDescriptor();
  FileDescriptor reader(ends[0]);
  const FileDescriptor writer(ends[1]);
  dup2(writer.get(), STDERR_FILENO);
  return reader;
}

void read_standard_error(std::vector<std::string>& lines) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  std::string text;
  char bytes[4096];
  for (ssize_t count = 0; (count = read(standard_error.get(), bytes, sizeof bytes)) > 0;) {
    text.append(bytes, static_cast<std::size_t>(count));
  }
  std::istringstream written(text);
  for (std::string line; std::getline(written, line);) lines.push_back(std::string(host) + ": " + line);
}

}  // namespace

void keep_errors() {
  const std::lock_guard lock(kept_mutex);
  kept.emplace();
  standard_error = take_standard_error();
}

std::vector<std::string> take_kept_errors() {
  const std::lock_guard lock(kept_mutex);
  if (!kept) return {};
  read_standard_error(*kept);
  return std::exchange(*kept, {});
}

void print_error(std::string_view text) {
  const std::lock_guard lock(kept_mutex);
  if (kept) return void(kept->emplace_back(text));
  // One call: lines of several threads do not mix.
  std::fprintf(stderr, "%s: %.*s\n", program_invocation_short_name, static_cast<int>(text.size()), text.data());
}

char* c_copy(std::string_view text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  if (!text.empty()) std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

}  // namespace openlapi::boot
