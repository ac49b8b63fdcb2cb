// What the variables of the verbs module say.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "dataplane/base/whole_number.h"

namespace openlapi::verbs {

// 15 bits of a P_Key, as 0x8001 or 8001. Nothing: it is none, or that of no partition.
inline std::optional<std::uint16_t> partition_key(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  std::uint16_t key = 0;
  const char* const end = text.data() + text.size();
  const auto [next, problem] = std::from_chars(text.data(), end, key, 16);
  if (problem != std::errc() || next != end || (key & 0x7fff) == 0) return std::nullopt;
  return static_cast<std::uint16_t>(key & 0x7fff);
}

inline std::optional<std::uint8_t> service_level(std::string_view text) {
  return whole_number<std::uint8_t>(text, 0, 15);
}

inline std::optional<std::uint8_t> traffic_class(std::string_view text) { return whole_number<std::uint8_t>(text); }

}  // namespace openlapi::verbs
