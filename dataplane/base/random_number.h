// Unpredictable numbers, from the kernel.
#pragma once

#include <sys/random.h>

#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

namespace openlapi {

// At most 256 bytes, which the kernel returns in one call; it blocks only while the machine boots, when a signal may
// interrupt it. Ends the program where a filter of system calls forbids it: keys that can be guessed are worse.
// (libcrypto's generator needs a millisecond to start.)
inline void fill_randomly(std::span<std::uint8_t> bytes) {
  while (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    if (errno == EINTR) continue;
    std::perror("openlapi: the system gives no random numbers");
    std::abort();
  }
}

template <typename Number>
Number random_number() {
  std::uint8_t bytes[sizeof(Number)];
  fill_randomly(bytes);
  return std::bit_cast<Number>(bytes);
}

}  // namespace openlapi
