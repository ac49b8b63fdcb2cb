#include "control/ssi/ssi_error.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <deque>
#include <iterator>
#include <mutex>
#include <optional>
#include <sstream>

#include "control/base/host_name.h"
#include "control/ssi/kept_errors.h"
#include "dataplane/base/file_descriptor.h"

namespace openlapi::ssi {
namespace {

constexpr std::size_t kLongestShown = 80;

class KeptLines {
 public:
  void add(std::string line) {
    bytes_ += line.size();
    lines_.push_back(std::move(line));
    while (bytes_ > kMostKeptErrors) {
      bytes_ -= lines_.front().size();
      drop(lines_.front().size() + 1);
      lines_.pop_front();
    }
  }
  void drop(std::size_t bytes) { dropped_ += bytes; }
  std::vector<std::string> take(const std::string& host) {
    std::vector<std::string> taken;
    if (dropped_ > 0) {
      taken.push_back(host + ": the first " + std::to_string(dropped_) + " bytes of messages were dropped, the last " +
                      std::to_string(kMostKeptErrors) + " are kept");
    }
    taken.insert(taken.end(), std::move_iterator(lines_.begin()), std::move_iterator(lines_.end()));
    *this = {};
    return taken;
  }

 private:
  std::deque<std::string> lines_{};
  std::size_t bytes_ = 0, dropped_ = 0;
};

std::mutex kept_mutex;
std::optional<KeptLines> kept;
FileDescriptor standard_error;  // what others have written there
off_t bytes_told = 0;           // of it

// A file: whoever writes there never waits, however much it is.
FileDescriptor take_standard_error() {
  FileDescriptor file(static_cast<int>(syscall(SYS_memfd_create, "errors", MFD_CLOEXEC)));
  if (!file.is_open()) return file;
  fcntl(file.get(), F_SETFL, O_APPEND);
  dup2(file.get(), STDERR_FILENO);
  return file;
}

// What begins before this is dropped.
off_t kept_from() {
  struct stat file {};
  if (fstat(standard_error.get(), &file) != 0) return 0;
  return std::max<off_t>(file.st_size - static_cast<off_t>(kMostKeptErrors), 0);
}

void read_standard_error(KeptLines& lines, const std::string& host) {
  const off_t told_before = std::exchange(bytes_told, std::max(bytes_told, kept_from()));
  const bool begins_within = bytes_told > told_before;
  lines.drop(static_cast<std::size_t>(bytes_told - told_before));
  std::string text;
  char bytes[4096];
  for (ssize_t count = 0; (count = pread(standard_error.get(), bytes, sizeof bytes, bytes_told)) > 0;
       bytes_told += count) {
    text.append(bytes, static_cast<std::size_t>(count));
  }
  std::istringstream written(text);
  std::string line;
  if (begins_within && std::getline(written, line)) lines.drop(line.size() + 1);
  while (std::getline(written, line)) lines.add(host + ": " + line);
}

}  // namespace

void keep_errors() {
  const std::lock_guard lock(kept_mutex);
  kept.emplace();
  standard_error = take_standard_error();
  bytes_told = 0;
}

std::vector<std::string> take_kept_errors() {
  const std::lock_guard lock(kept_mutex);
  if (!kept) return {};
  const std::string host = host_name();
  read_standard_error(*kept, host);
  return kept->take(host);
}

void trim_kept_errors() {
  const std::lock_guard lock(kept_mutex);
  const off_t gone = kept ? kept_from() : 0;
  if (gone > 0) fallocate(standard_error.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, gone);
}

void print_error(std::string_view text) {
  const std::lock_guard lock(kept_mutex);
  if (kept) return kept->add(std::string(text));
  // One call: lines of several threads do not mix.
  std::fprintf(stderr, "%s: %.*s\n", program_invocation_short_name, static_cast<int>(text.size()), text.data());
}

std::string shown(std::string_view value) {
  std::string text = "\"";
  for (const char letter : value.substr(0, kLongestShown)) {
    text += std::isprint(static_cast<unsigned char>(letter)) != 0 ? letter : '?';
  }
  return text + (value.size() > kLongestShown ? "...\"" : "\"");
}

char* c_copy(std::string_view text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  if (!text.empty()) std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

}  // namespace openlapi::ssi
