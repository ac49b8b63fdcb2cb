// Writing and reading whole messages, the same way in floors and library rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace openlapi::bench {

inline void write_all(std::byte* data, std::size_t length, std::uint64_t value) {
  std::memset(data, static_cast<int>(value & 0xff), length);
}

// Reads every byte; the empty asm keeps the compiler from leaving that out.
inline void read_all(const std::byte* data, std::size_t length) {
  std::uint64_t total = 0;
  std::size_t i = 0;
  for (; i + 8 <= length; i += 8) {
    std::uint64_t word;
    std::memcpy(&word, data + i, 8);
    total += word;
  }
  for (; i < length; ++i) total += static_cast<std::uint64_t>(data[i]);
  asm volatile("" : : "r"(total));
}

}  // namespace openlapi::bench
