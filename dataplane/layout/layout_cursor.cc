#include "dataplane/layout/layout_cursor.h"

#include <algorithm>
#include <array>

#include "dataplane/base/copy_bytes.h"
#include "dataplane/base/own_memory.h"

namespace openlapi {

namespace {

std::byte* place(const LayoutPiece& piece) { return pointer_to(piece.address); }

}  // namespace

void LayoutCursor::gather(std::byte* into, std::uint64_t bytes) {
  std::array<LayoutPiece, kPiecesAtATime> pieces;
  while (bytes != 0) {
    const std::size_t count = next_pieces(pieces, bytes);
    if (count == 0) return;
    for (const LayoutPiece& piece : std::span(pieces).first(count)) {
      copy_bytes(into, place(piece), piece.length);
      into += piece.length;
      bytes -= piece.length;
    }
  }
}

void LayoutCursor::scatter(const std::byte* from, std::uint64_t bytes) {
  std::array<LayoutPiece, kPiecesAtATime> pieces;
  while (bytes != 0) {
    const std::size_t count = next_pieces(pieces, bytes);
    if (count == 0) return;
    for (const LayoutPiece& piece : std::span(pieces).first(count)) {
      copy_bytes(place(piece), from, piece.length);
      from += piece.length;
      bytes -= piece.length;
    }
  }
}

void copy_layout(LayoutCursor& from, LayoutCursor& to) {
  std::array<LayoutPiece, kPiecesAtATime> pieces;
  for (std::uint64_t left = std::min(from.bytes_left(), to.bytes_left()); left != 0;) {
    const std::size_t count = from.next_pieces(pieces, left);
    if (count == 0) return;
    for (const LayoutPiece& piece : std::span(pieces).first(count)) {
      to.scatter(place(piece), piece.length);
      left -= piece.length;
    }
  }
}

}  // namespace openlapi
