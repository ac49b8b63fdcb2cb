#include "control/boot/schemas/schema_words.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace openlapi::boot {
namespace {

constexpr std::size_t kLargestFile = 64 << 20;  // a million hosts; what is larger is no schema

bool is_blank(char letter) { return letter == ' ' || letter == '\t' || letter == '\r'; }

}  // namespace

std::vector<SchemaWord> split_schema_line(std::string_view text, const SchemaLine& line) {
  if (text.find('\0') != std::string_view::npos) line.refuse("the line has a zero byte; allowed: text");
  std::vector<SchemaWord> words;
  for (std::size_t at = 0; at < text.size() && text[at] != '#';) {
    std::size_t end = at;
    if (is_blank(text[at])) {
      ++at;
    } else if (text[at] == '"') {
      end = text.find('"', at + 1);
      if (end == std::string_view::npos) line.refuse(shown(text.substr(at)) + " has no closing quote");
      words.push_back({std::string(text.substr(at + 1, end - at - 1)), true});
      at = end + 1;
    } else {
      while (end < text.size() && !is_blank(text[end]) && text[end] != '#' && text[end] != '"') ++end;
      words.push_back({std::string(text.substr(at, end - at)), false});
      at = end;
    }
  }
  return words;
}

std::string read_schema_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  if (file) text.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  if (!file || errno == EISDIR) {
    throw BootError(path + ": cannot be read: " + (errno == 0 ? "it is no file" : std::strerror(errno)));
  }
  if (text.size() > kLargestFile) throw BootError(path + ": " + std::to_string(text.size()) + " bytes; at most 64 MiB");
  return text;
}

}  // namespace openlapi::boot
