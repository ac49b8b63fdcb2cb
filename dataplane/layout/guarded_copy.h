// Layouts that name memory which is not there: how to find out, and what is used instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "dataplane/layout/layout_cursor.h"

namespace openlapi {

// Whether the first `bytes` of the layout can be read. Looks at each of their pages; only for use after a copy has
// failed, or when a copy must not fail half-way.
bool is_readable(const LayoutCursor& layout, std::uint64_t bytes);

// As LayoutCursor::gather(), under a guard. False: some bytes could not be read; then all are zero, and the cursor may
// only be destroyed.
bool gather_or_zero(LayoutCursor& layout, std::byte* into, std::uint64_t bytes);

// Writes to the pages without changing them, not even for other threads. Under a guard it detects read-only memory.
void touch_writable(std::byte* first, std::uint64_t length);

// As many zero bytes as a layout had, for the rest of a message whose data cannot be read. Only to be read from.
class ZeroCursor final : public LayoutCursor {
 public:
  ZeroCursor(std::uint64_t total_bytes, std::uint32_t atom_size) : LayoutCursor(total_bytes), atom_size_(atom_size) {}

  void seek(std::uint64_t position) override { position_ = position; }
  std::size_t next_pieces(std::span<LayoutPiece> pieces, std::uint64_t bytes) override;
  std::uint32_t atom_size() const override { return atom_size_; }
  std::uint64_t piece_count() const override;
  std::unique_ptr<LayoutCursor> clone() const override {
    return std::make_unique<ZeroCursor>(total_bytes_, atom_size_);
  }
  std::unique_ptr<LayoutCursor> detached() const override { return clone(); }

 private:
  std::uint32_t atom_size_;
};

// A destination for data that is not to be kept.
std::unique_ptr<LayoutCursor> nowhere();

}  // namespace openlapi
