// Unpredictable numbers, from the kernel.
#pragma once

#include <sys/random.h>

#include <cstdint>
#include <span>

namespace openlapi {

// Never blocks once the machine has booted; before that a signal may interrupt it.
template <typename Number>
Number random_number() {
  Number number = 0;
  while (getrandom(&number, sizeof number, 0) != sizeof number) {
  }
  return number;
}

// For keys: at most 256 bytes, which the kernel returns in one call. libcrypto's generator needs a millisecond to
// start.
inline void fill_randomly(std::span<std::uint8_t> bytes) {
  while (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
  }
}

}  // namespace openlapi
