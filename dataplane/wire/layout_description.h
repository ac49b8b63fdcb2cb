// The description of a layout (where the bytes of a message lie in a task's memory) as it is sent: a list of pieces, or
// blocks at a constant distance. record_format.md defines it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/base/memory_range.h"

namespace openlapi::wire {

using LayoutPiece = MemoryRange;

struct StridedLayout {
  std::uint64_t base;    // address of the first block
  std::uint64_t block;   // bytes
  std::uint64_t stride;  // bytes from one block's first byte to the next one's
  std::uint64_t count;   // blocks
};

enum class LayoutKind : std::uint32_t { pieces = 1, strided };

struct LayoutHeader {
  std::uint32_t kind;         // LayoutKind
  std::uint32_t reserved;     // 0
  std::uint64_t count;        // pieces; strided: 1
  std::uint64_t total_bytes;  // that the layout describes
};

static_assert(sizeof(LayoutPiece) == 16 && sizeof(StridedLayout) == 32 && sizeof(LayoutHeader) == 24);
static_assert(offsetof(LayoutPiece, length) == 8 && offsetof(StridedLayout, count) == 24);
static_assert(offsetof(LayoutHeader, count) == 8 && offsetof(LayoutHeader, total_bytes) == 16);

// A decoded description; `pieces` points into the bytes that were decoded, and need not be aligned.
struct LayoutDescription {
  LayoutKind kind;
  std::uint64_t total_bytes;
  const std::byte* pieces;  // `count` LayoutPieces
  std::uint64_t count;
  StridedLayout strided;
};

// Whether all bytes from `address` on are below the end of the address space.
constexpr bool is_range(std::uint64_t address, std::uint64_t length) { return length <= UINT64_MAX - address; }

// The total length if every block is a range and the total fits in 64 bits; otherwise UINT64_MAX.
std::uint64_t total_of(const StridedLayout& layout);

// Sum of the pieces' lengths; UINT64_MAX if one of them is not a range, or the sum does not fit in 64 bits.
std::uint64_t total_of(std::span<const std::byte> pieces);

void append_description(std::vector<std::byte>& out, const StridedLayout& layout);
void append_description(std::vector<std::byte>& out, std::span<const LayoutPiece> pieces, std::uint64_t total);

// Takes the first description off `rest`. False: not a description (unknown kind, wrong lengths, ranges that wrap).
bool next_description(std::span<const std::byte>& rest, LayoutDescription& description);

}  // namespace openlapi::wire
