#include "control/launch/lam_options.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

namespace openlapi {
namespace {

constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"-np", "--np"},
                                                                    {"-c", "--np"},
                                                                    {"-wd", "--wd"},
                                                                    {"-host", "--host"},
                                                                    {"-nw", "--no-wait"},
                                                                    {"-sessionprefix", "--sessionprefix"},
                                                                    {"-sessionsuffix", "--sessionsuffix"}};

// Waiting, output and terminals are as they are; data is never converted; the environment always goes along.
constexpr std::array<std::string_view, 10> kWithoutEffect = {"-w",     "-O",    "-f",   "-ger",  "-nger",
                                                             "-nsigs", "-sigs", "-pty", "-npty", "-nx"};

// "NAME=...", as shells have names.
bool begins_with_assignment(std::string_view text) {
  const auto end = text.find('=');
  return end != std::string_view::npos && end > 0 && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::ranges::all_of(text.substr(0, end), [](char letter) {
           return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
         });
}

}  // namespace

std::string own_name_of(const std::string& word) {
  const auto* found = std::ranges::find(kNames, word, [](const auto& name) { return name.first; });
  return found == std::end(kNames) ? word : std::string(found->second);
}

bool is_without_effect(const std::string& word) {
  return std::ranges::find(kWithoutEffect, word) != kWithoutEffect.end();
}

std::vector<std::string> split_variables(const std::string& text) {
  std::vector<std::string> variables;
  std::string_view left = text;
  while (true) {
    const bool has_value = begins_with_assignment(left);
    std::size_t comma = left.find(',');
    while (comma != std::string_view::npos && has_value && !begins_with_assignment(left.substr(comma + 1))) {
      comma = left.find(',', comma + 1);
    }
    variables.emplace_back(left.substr(0, comma));
    if (comma == std::string_view::npos) return variables;
    left.remove_prefix(comma + 1);
  }
}

}  // namespace openlapi
