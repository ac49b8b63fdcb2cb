// Layouts that name memory which is not there: finding out, and what goes on in their place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "dataplane/layout/layout_cursor.h"

namespace openlapi {

// Whether the first `bytes` of the layout can be read. Looks at every page of theirs; only for when a copy has failed,
// or must not fail half-way.
bool is_readable(const LayoutCursor& layout, std::uint64_t bytes);

// As LayoutCursor::gather(), under a guard. False: some of the bytes could not be read, all are zero, and the cursor
// may only be destroyed.
bool gather_or_zero(LayoutCursor& layout, std::byte* into, std::uint64_t bytes);

// Writes to the pages without changing them, also for other threads. A guard around it meets what cannot be written.
void touch_writable(std::byte* first, std::uint64_t length);

// As many bytes as a layout had, all zero: the rest of a message whose data cannot be read. Only to be read.
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

// A place for data that shall not be kept.
std::unique_ptr<LayoutCursor> nowhere();

}  // namespace openlapi
