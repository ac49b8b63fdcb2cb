#include "api/context_variables.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string_view>

#include "api/context_texts.h"
#include "api/unknown_variables.h"

namespace openlapi {
namespace {

constexpr std::string_view kVariablesKey = "openlapi.variables";

// What is published is short: a checksum (FNV-1a).
std::string checksum_of(const std::vector<std::string>& lines) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const std::string& line : lines) {
    for (const char letter : line + '\n') sum = (sum ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  }
  return std::to_string(sum);
}

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

bool publish_unknown_variables(Bootstrap& bootstrap, const std::vector<std::string>& lines, std::string& reason) {
  return publish_text(bootstrap, kVariablesKey, checksum_of(lines), reason);
}

void compare_unknown_variables(Bootstrap& bootstrap, const std::vector<std::string>& lines) {
  if (lines.empty() || bootstrap.rank() == 0) return;
  const std::string own = checksum_of(lines);
  std::string other, reason;
  if (published_text(bootstrap, task_to_compare_with(bootstrap), kVariablesKey, other, reason) && other == own) return;
  if (!is_said_by_another(bootstrap, kVariablesKey, own)) print_lines(lines);
}

}  // namespace openlapi
