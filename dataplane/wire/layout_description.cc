#include "dataplane/wire/layout_description.h"

#include <cstring>

namespace openlapi::wire {

namespace {

template <typename Part>
void append(std::vector<std::byte>& out, const Part& part) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&part);
  out.insert(out.end(), bytes, bytes + sizeof(part));
}

template <typename Part>
bool take(std::span<const std::byte>& rest, Part& part) {
  if (rest.size() < sizeof(part)) return false;
  std::memcpy(&part, rest.data(), sizeof(part));
  rest = rest.subspan(sizeof(part));
  return true;
}

}  // namespace

std::uint64_t total_of(const StridedLayout& layout) {
  std::uint64_t total, distance, last;
  if (layout.count == 0 || layout.block == 0) return 0;
  if (__builtin_mul_overflow(layout.block, layout.count, &total)) return UINT64_MAX;
  if (__builtin_mul_overflow(layout.stride, layout.count - 1, &distance)) return UINT64_MAX;
  if (__builtin_add_overflow(layout.base, distance, &last) || !is_range(last, layout.block)) return UINT64_MAX;
  return is_range(layout.base, layout.block) ? total : UINT64_MAX;
}

std::uint64_t total_of(std::span<const std::byte> pieces) {
  std::uint64_t total = 0;
  LayoutPiece piece;
  while (take(pieces, piece)) {
    if (!is_range(piece.address, piece.length) || __builtin_add_overflow(total, piece.length, &total)) {
      return UINT64_MAX;
    }
  }
  return total;
}

void append_description(std::vector<std::byte>& out, const StridedLayout& layout) {
  append(out, LayoutHeader{static_cast<std::uint32_t>(LayoutKind::strided), 0, 1, layout.block * layout.count});
  append(out, layout);
}

void append_description(std::vector<std::byte>& out, std::span<const LayoutPiece> pieces, std::uint64_t total) {
  append(out, LayoutHeader{static_cast<std::uint32_t>(LayoutKind::pieces), 0, pieces.size(), total});
  const auto bytes = std::as_bytes(pieces);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

bool next_description(std::span<const std::byte>& rest, LayoutDescription& description) {
  LayoutHeader header;
  if (!take(rest, header)) return false;
  description = {};
  description.kind = static_cast<LayoutKind>(header.kind);
  description.total_bytes = header.total_bytes;
  if (header.total_bytes == UINT64_MAX) return false;
  switch (description.kind) {
    case LayoutKind::pieces: {
      if (header.count > rest.size() / sizeof(LayoutPiece)) return false;
      description.count = header.count;
      description.pieces = rest.data();
      const auto pieces = rest.first(header.count * sizeof(LayoutPiece));
      rest = rest.subspan(pieces.size());
      return total_of(pieces) == header.total_bytes;
    }
    case LayoutKind::strided:
      return take(rest, description.strided) && total_of(description.strided) == header.total_bytes;
  }
  return false;
}

}  // namespace openlapi::wire
