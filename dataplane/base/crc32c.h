// CRC32C (Castagnoli), by the processor's instruction where it has one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace openlapi {

// Extends a checksum: `crc` covers some bytes, the result covers them and these. The checksum of nothing is 0.
std::uint32_t extend_crc32c(std::uint32_t crc, const void* data, std::size_t length);

// The same by tables; for processors without the instruction and for tests.
std::uint32_t extend_crc32c_by_table(std::uint32_t crc, const void* data, std::size_t length);

}  // namespace openlapi
