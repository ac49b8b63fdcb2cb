#include "nic/verbs/memory_kind.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstring>

namespace openlapi::verbs {
namespace {

// The part of `line` up to `separator`; `line` goes on after it.
std::string_view cut(std::string_view& line, char separator) {
  const std::size_t length = line.find(separator);
  const std::string_view word = line.substr(0, length);
  line.remove_prefix(length == std::string_view::npos ? line.size() : length + 1);
  return word;
}

std::uint64_t hexadecimal(std::string_view word) {
  std::uint64_t number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number, 16);
  return number;
}

}  // namespace

// begin-end rights offset device inode name
void PrivateMemoryScan::line(std::string_view line) {
  if (over()) return;
  const std::uint64_t begin = hexadecimal(cut(line, '-'));
  const std::uint64_t end = hexadecimal(cut(line, ' '));
  if (end <= next_) return;
  const std::string_view rights = cut(line, ' ');
  cut(line, ' ');
  cut(line, ' ');
  const std::string_view inode = cut(line, ' ');
  refused_ = begin > next_ || rights.size() != 4 || rights[3] != 'p' || inode != "0";
  if (!refused_) next_ = end;
}

bool is_private_anonymous(std::uint64_t begin, std::uint64_t end) {
  const int list = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (list < 0) return false;
  PrivateMemoryScan scan(begin, end);
  std::array<char, 8192> text;  // longer than any line
  std::size_t kept = 0;
  while (!scan.over()) {
    const ssize_t count = read(list, text.data() + kept, text.size() - kept);
    if (count <= 0) break;
    kept += static_cast<std::size_t>(count);
    std::string_view rest(text.data(), kept);
    for (std::size_t length; (length = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(length + 1)) {
      scan.line(rest.substr(0, length));
    }
    kept = rest.size();
    std::memmove(text.data(), rest.data(), kept);
  }
  close(list);
  return scan.covered();
}

}  // namespace openlapi::verbs
