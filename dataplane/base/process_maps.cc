#include "dataplane/base/process_maps.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace openlapi {
namespace {

// The next word; `line` goes on behind the separator.
std::string_view cut_word(std::string_view& line, char separator) {
  const std::size_t length = line.find(separator);
  const std::string_view word = line.substr(0, length);
  line.remove_prefix(length == std::string_view::npos ? line.size() : length + 1);
  return word;
}

template <typename Number>
bool read_number(std::string_view word, int base, Number& number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number, base);
  return error == std::errc() && end == word.data() + word.size();
}

}  // namespace

// begin-end rights offset major:minor inode      name
std::optional<Mapping> parse_mapping(std::string_view line) {
  Mapping mapping{};
  unsigned major_number = 0, minor_number = 0;
  if (!read_number(cut_word(line, '-'), 16, mapping.begin)) return std::nullopt;
  if (!read_number(cut_word(line, ' '), 16, mapping.end)) return std::nullopt;
  const std::string_view rights = cut_word(line, ' ');
  if (rights.size() != 4 || !read_number(cut_word(line, ' '), 16, mapping.offset)) return std::nullopt;
  if (!read_number(cut_word(line, ':'), 16, major_number)) return std::nullopt;
  if (!read_number(cut_word(line, ' '), 16, minor_number)) return std::nullopt;
  if (!read_number(cut_word(line, ' '), 10, mapping.inode)) return std::nullopt;
  mapping.readable = rights[0] == 'r';
  mapping.writable = rights[1] == 'w';
  mapping.executable = rights[2] == 'x';
  mapping.shared = rights[3] == 's';
  mapping.device = makedev(major_number, minor_number);
  mapping.name = line.substr(std::min(line.find_first_not_of(' '), line.size()));
  return mapping;
}

MappingList MappingList::open() {
  MappingList list;
  list.file_.reset(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  return list;
}

bool MappingList::read(bool (*visit)(void* context, const Mapping& mapping), void* context) const {
  std::array<char, 8192> text;  // longer than any line
  std::size_t kept = 0;
  for (off_t at = 0;;) {
    const ssize_t count = pread(file_.get(), text.data() + kept, text.size() - kept, at);
    if (count <= 0) return count == 0;
    at += count;
    kept += static_cast<std::size_t>(count);
    std::string_view rest(text.data(), kept);
    for (std::size_t length; (length = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(length + 1)) {
      const std::optional<Mapping> mapping = parse_mapping(rest.substr(0, length));
      if (mapping && !visit(context, *mapping)) return true;
    }
    kept = rest.size();
    std::memmove(text.data(), rest.data(), kept);
  }
}

}  // namespace openlapi
