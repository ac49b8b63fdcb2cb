// Arbitrary bytes to the decoder of layouts, and what it accepts to the cursors: every piece lies inside the address
// space, the pieces are as long as they said together, and seeking finds them again.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/base/check.h"
#include "dataplane/layout/vector_cursor.h"

namespace wire = openlapi::wire;
using openlapi::LayoutCursor;
using openlapi::LayoutPiece;

namespace {

constexpr std::uint64_t kMostSteps = 2000;  // an input may describe 2^60 bytes in a few

void walk(LayoutCursor& cursor, std::uint64_t step) {
  std::array<LayoutPiece, 5> pieces;
  for (std::uint64_t n = 0; n < kMostSteps && cursor.bytes_left() != 0; ++n) {
    const std::uint64_t before = cursor.position();
    const std::size_t count = cursor.next_pieces(pieces, step);
    OPENLAPI_CHECK(count != 0 && count <= pieces.size());
    std::uint64_t sum = 0;
    for (const LayoutPiece& piece : std::span(pieces).first(count)) {
      OPENLAPI_CHECK(piece.length != 0 && wire::is_range(piece.address, piece.length));
      sum += piece.length;
    }
    OPENLAPI_CHECK(sum <= step && cursor.position() == before + sum);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const std::vector<std::byte> copy(bytes, bytes + size);
  std::span<const std::byte> rest(copy);
  wire::LayoutDescription description;
  for (std::size_t before = rest.size(); wire::next_description(rest, description); before = rest.size()) {
    OPENLAPI_CHECK(rest.size() < before);
    const auto cursor = openlapi::cursor_of(description);
    OPENLAPI_CHECK(cursor->total_bytes() == description.total_bytes);
    walk(*cursor, UINT64_MAX);
    cursor->seek(cursor->total_bytes() / 2);
    LayoutPiece piece{}, again{};
    const std::size_t found = cursor->next_pieces({&piece, 1}, 7);
    OPENLAPI_CHECK(found == (description.total_bytes != 0 ? 1u : 0u));
    cursor->seek(0);
    walk(*cursor, 11);
    cursor->seek(cursor->total_bytes() / 2);
    OPENLAPI_CHECK(cursor->next_pieces({&again, 1}, 7) == found && again.address == piece.address &&
                   again.length == piece.length);
  }
  return 0;
}
