#include "dataplane/layout/own_layouts.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace openlapi {

bool is_own_layout(const wire::StridedLayout& layout) {
  if (layout.count == 0 || layout.block == 0 || wire::total_of(layout) == UINT64_MAX) return true;
  return is_own_memory(layout.base, layout.stride * (layout.count - 1) + layout.block);
}

bool is_own_layout(const std::byte* pieces, std::uint64_t count) {
  wire::LayoutPiece piece;
  for (; count != 0; --count, pieces += sizeof(piece)) {
    std::memcpy(&piece, pieces, sizeof(piece));
    if (piece.length != 0 && !is_own_memory(piece.address, piece.length)) return false;
  }
  return true;
}

bool is_own_layout(LayoutCursor& cursor) {
  wire::StridedLayout layout;
  if (cursor.as_strided(layout)) return is_own_layout(layout);
  std::array<LayoutPiece, 16> pieces;
  bool own = true;
  cursor.seek(0);
  for (std::size_t count = 1; own && count != 0;) {
    count = cursor.next_pieces(pieces, UINT64_MAX);
    own = std::all_of(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(count),
                      [](const LayoutPiece& piece) { return is_own_memory(piece.address, piece.length); });
  }
  cursor.seek(0);
  return own;
}

bool is_own_layout(const wire::LayoutDescription& layout) {
  if (layout.kind == wire::LayoutKind::strided) return is_own_layout(layout.strided);
  return is_own_layout(layout.pieces, layout.count);
}

}  // namespace openlapi
