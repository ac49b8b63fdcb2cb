#include "api/wiring/mistyped_variables.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>

#include "api/wiring/task_texts.h"
#include "api/wiring/unknown_variables.h"

namespace openlapi {
namespace {

void print_lines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) std::fprintf(stderr, "openlapi: %s\n", line.c_str());
}

}  // namespace

std::vector<std::string> look_at_variables(bool say) {
  if (environ == nullptr) return {};
  std::vector<std::string> lines = unknown_variables(environ);
  if (say) print_lines(lines);
  return lines;
}

// FNV-1a.
std::string checksum_of(const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const std::string& line : lines) {
    for (const char letter : line + '\n') sum = (sum ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  }
  return std::to_string(sum);
}

void compare_unknown_variables(Bootstrap& bootstrap, const std::vector<std::string>& lines) {
  if (lines.empty() || bootstrap.task() == 0) return;
  const std::string own = checksum_of(lines);
  TaskTexts other;
  std::string reason;
  if (published_texts(bootstrap, task_to_compare_with(bootstrap), other, reason) && other.variables == own) return;
  if (!is_said_by_another(bootstrap, &TaskTexts::variables, own)) print_lines(lines);
}

}  // namespace openlapi
