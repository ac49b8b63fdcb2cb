// Copies of many equal blocks, without a decision or a call per block.
#pragma once

#include <cstddef>
#include <cstdint>

namespace openlapi {

// `count` blocks of `bytes` each, in order. Strides are distances between the starts of blocks, as two's complement:
// they may be negative. A block and its copy must not overlap in part.
void copy_strided(std::byte* to, std::uint64_t to_stride, const std::byte* from, std::uint64_t from_stride,
                  std::size_t bytes, std::uint64_t count);

}  // namespace openlapi
