// Numbers in our formats that travel between machines: little-endian, at any alignment.
#pragma once

#include <cstddef>
#include <cstdint>

namespace openlapi {

// `Number`: unsigned.
template <class Number>
void store_little(std::byte* place, Number number) {
  for (std::size_t i = 0; i < sizeof number; ++i) {
    place[i] = static_cast<std::byte>(static_cast<std::uint64_t>(number) >> (8 * i));
  }
}

template <class Number>
Number load_little(const std::byte* place) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) number |= std::to_integer<std::uint64_t>(place[i]) << (8 * i);
  return static_cast<Number>(number);
}

}  // namespace openlapi
