#include "control/boot/boot_error.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/syscall.h>
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
off_t bytes_told = 0;           // of it

// A file: who writes there never waits, however much it is, and nothing of it is lost.
FileDescriptor take_standard_error() {
  FileDescriptor file(static_cast<int>(syscall(SYS_memfd_create, "errors", MFD_CLOEXEC)));
  if (!file.is_open()) return file;
  fcntl(file.get(), F_SETFL, O_APPEND);
  dup2(file.get(), STDERR_FILENO);
  return file;
}

void read_standard_error(std::vector<std::string>& lines) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  std::string text;
  char bytes[4096];
  for (ssize_t count = 0; (count = pread(standard_error.get(), bytes, sizeof bytes, bytes_told)) > 0;
       bytes_told += count) {
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
