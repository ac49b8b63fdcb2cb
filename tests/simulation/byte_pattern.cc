#include "tests/simulation/byte_pattern.h"

#include <algorithm>
#include <cstring>

#include "tests/support/seeded_random.h"

namespace openlapi::simulation {

namespace {

std::uint64_t word(std::uint64_t key, std::uint64_t index) { return mix_bits(key + index * 0x9e3779b97f4a7c15); }

}  // namespace

std::byte pattern_byte(std::uint64_t key, std::uint64_t offset) {
  return static_cast<std::byte>(word(key, offset / 8) >> (offset % 8 * 8));
}

void fill_pattern(std::span<std::byte> bytes, std::uint64_t key, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    for (; (offset + done) % 8 == 0 && bytes.size() - done >= 8; done += 8) {
      const std::uint64_t value = word(key, (offset + done) / 8);
      std::memcpy(bytes.data() + done, &value, 8);
    }
    if (done == bytes.size()) return;
    const std::uint64_t value = word(key, (offset + done) / 8) >> ((offset + done) % 8 * 8);
    const std::size_t step = std::min<std::size_t>(8 - (offset + done) % 8, bytes.size() - done);
    std::memcpy(bytes.data() + done, &value, step);
    done += step;
  }
}

std::size_t matching_bytes(std::span<const std::byte> bytes, std::uint64_t key, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    std::uint64_t here = 0;
    for (; (offset + done) % 8 == 0 && bytes.size() - done >= 8; done += 8) {
      std::memcpy(&here, bytes.data() + done, 8);
      if (here != word(key, (offset + done) / 8)) break;
    }
    if (done == bytes.size()) return done;
    const std::uint64_t value = word(key, (offset + done) / 8) >> ((offset + done) % 8 * 8);
    const std::size_t step = std::min<std::size_t>(8 - (offset + done) % 8, bytes.size() - done);
    if (std::memcmp(bytes.data() + done, &value, step) != 0) break;
    done += step;
  }
  while (done < bytes.size() && bytes[done] == pattern_byte(key, offset + done)) ++done;
  return done;
}

bool has_pattern(std::span<const std::byte> bytes, std::uint64_t key, std::uint64_t offset) {
  return matching_bytes(bytes, key, offset) == bytes.size();
}

std::uint64_t digest(std::span<const std::byte> bytes) {
  std::uint64_t sum = bytes.size();
  for (const std::byte byte : bytes) sum = (sum ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
  return mix_bits(sum) | 1;
}

}  // namespace openlapi::simulation
