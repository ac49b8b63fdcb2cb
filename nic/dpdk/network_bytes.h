// Numbers in network headers: big-endian, not aligned.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace openlapi::dpdk {

static_assert(std::endian::native == std::endian::little, "numbers are swapped without asking");

inline std::uint16_t load16(const std::byte* at) {
  std::uint16_t number;
  std::memcpy(&number, at, sizeof number);
  return __builtin_bswap16(number);
}

inline std::uint32_t load32(const std::byte* at) {
  std::uint32_t number;
  std::memcpy(&number, at, sizeof number);
  return __builtin_bswap32(number);
}

inline void store16(std::byte* at, std::uint16_t number) {
  number = __builtin_bswap16(number);
  std::memcpy(at, &number, sizeof number);
}

inline void store32(std::byte* at, std::uint32_t number) {
  number = __builtin_bswap32(number);
  std::memcpy(at, &number, sizeof number);
}

}  // namespace openlapi::dpdk
