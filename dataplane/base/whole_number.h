// Numbers that users, files and other programs have written.
#pragma once

#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

namespace openlapi {

// The decimal number that the text is. Nothing: it is none, has anything else in it, or is out of these bounds.
template <class Number>
std::optional<Number> whole_number(std::string_view text, Number least = std::numeric_limits<Number>::min(),
                                   Number most = std::numeric_limits<Number>::max()) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [next, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc() || next != end || number < least || number > most) return std::nullopt;
  return number;
}

}  // namespace openlapi
