#include "dataplane/base/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace openlapi {

namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

using Table = std::array<std::uint32_t, 256>;

// kTables[k][b]: what byte b contributes when k bytes follow it in the same word.
constexpr std::array<Table, 8> make_tables() {
  constexpr std::uint32_t kReversedPolynomial = 0x82f63b78;
  std::array<Table, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kReversedPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t follow = 1; follow < tables.size(); ++follow) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t previous = tables[follow - 1][byte];
      tables[follow][byte] = (previous >> 8) ^ tables[0][previous & 0xff];
    }
  }
  return tables;
}

constexpr std::array<Table, 8> kTables = make_tables();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t extend_by_instruction(std::uint32_t crc, const void* data,
                                                                      std::size_t length) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  std::uint64_t state = static_cast<std::uint32_t>(~crc);
  for (; length >= 8; length -= 8, bytes += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof(word));
    state = _mm_crc32_u64(state, word);
  }
  auto short_state = static_cast<std::uint32_t>(state);
  for (; length != 0; --length, ++bytes) short_state = _mm_crc32_u8(short_state, *bytes);
  return ~short_state;
}

const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
#endif

}  // namespace

std::uint32_t extend_crc32c_by_table(std::uint32_t crc, const void* data, std::size_t length) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  std::uint32_t state = ~crc;
  for (; length >= 8; length -= 8, bytes += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof(word));
    word ^= state;
    state = 0;
    for (std::size_t byte = 0; byte < 8; ++byte) state ^= kTables[7 - byte][(word >> (8 * byte)) & 0xff];
  }
  for (; length != 0; --length, ++bytes) state = (state >> 8) ^ kTables[0][(state ^ *bytes) & 0xff];
  return ~state;
}

std::uint32_t extend_crc32c(std::uint32_t crc, const void* data, std::size_t length) {
#if defined(__x86_64__)
  if (has_instruction) return extend_by_instruction(crc, data, length);
#endif
  return extend_crc32c_by_table(crc, data, length);
}

}  // namespace openlapi
