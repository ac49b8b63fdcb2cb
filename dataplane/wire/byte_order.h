// Little-endian numbers at any address. Compilers turn each into a single load or store.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>

namespace openlapi::wire {

static_assert(std::endian::native == std::endian::little, "numbers are copied to the wire as they lie in memory");

template <std::unsigned_integral Number>
inline Number load_little_endian(const std::byte* from) {
  Number value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

template <std::unsigned_integral Number>
inline void store_little_endian(std::byte* to, Number value) {
  std::memcpy(to, &value, sizeof(value));
}

}  // namespace openlapi::wire
