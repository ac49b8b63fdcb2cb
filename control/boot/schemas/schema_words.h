// The words of a line of a schema file.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "control/boot/errors/boot_error.h"

namespace openlapi::boot {

// Where a mistake is.
struct SchemaLine {
  std::string_view source{};
  int number = 0;

  [[noreturn]] void refuse(const std::string& mistake) const {
    throw BootError(std::string(source) + ":" + std::to_string(number) + ": " + mistake);
  }
};

struct SchemaWord {
  std::string text{};
  bool quoted = false;
};

// Words are separated by blanks; "..." may hold blanks and #. Elsewhere # begins a comment, also inside a word.
std::vector<SchemaWord> split_schema_line(std::string_view text, const SchemaLine& line);

// Calls `take(words, line)` for each line that has words.
template <typename Take>
void for_each_schema_line(std::string_view text, std::string_view source, Take&& take) {
  SchemaLine line{source, 0};
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    ++line.number;
    const std::vector<SchemaWord> words = split_schema_line(text.substr(0, end), line);
    if (!words.empty()) take(words, line);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
}

// The whole file. Throws BootError.
std::string read_schema_file(const std::string& path);

}  // namespace openlapi::boot
