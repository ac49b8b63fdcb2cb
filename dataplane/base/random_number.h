// Numbers that nobody can foresee, from the kernel.
#pragma once

#include <sys/random.h>

#include <cstdint>
#include <span>

namespace openlapi {

// Never blocks once the machine has booted; a signal may interrupt it before.
template <typename Number>
Number random_number() {
  Number number = 0;
  while (getrandom(&number, sizeof number, 0) != sizeof number) {
  }
  return number;
}

// For keys: at most 256 bytes, which come whole. libcrypto's own generator takes a millisecond to begin.
inline void fill_randomly(std::span<std::uint8_t> bytes) {
  while (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
  }
}

}  // namespace openlapi
