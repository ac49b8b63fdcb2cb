// What the variables of the verbs module say.
#pragma once

#include <array>
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

// The first bits of a GID. An IPv4 address a.b.c.d stands for ::ffff:a.b.c.d.
struct GidPrefix {
  std::array<std::uint8_t, 16> gid{};
  unsigned bits = 0;  // 0: any GID

  bool covers(const std::array<std::uint8_t, 16>& other) const {
    for (unsigned bit = 0; bit < bits; ++bit) {
      if (((gid[bit / 8] ^ other[bit / 8]) & 0x80 >> bit % 8) != 0) return false;
    }
    return true;
  }
};

// ADDRESS/BITS, as 10.77.0.0/16 or fd77::/64. Nothing: it is none.
std::optional<GidPrefix> gid_prefix(std::string_view text);

inline constexpr std::uint16_t kHighestVlan = 4094;

// 0: without a VLAN.
inline std::optional<std::uint16_t> vlan_number(std::string_view text) {
  return whole_number<std::uint16_t>(text, 0, kHighestVlan);
}

}  // namespace openlapi::verbs
