// The layouts of LAPI vectors: a list of pieces (LAPI_GEN_GENERIC, LAPI_GEN_IOVECTOR), or blocks at a constant distance
// (LAPI_GEN_STRIDED_XFER); contiguous memory is a single block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/layout/layout_cursor.h"

namespace openlapi {

// Where a list keeps its addresses and lengths: two arrays, or one of pairs. Not necessarily aligned.
struct PieceList {
  const std::byte* addresses = nullptr;
  const std::byte* lengths = nullptr;
  std::size_t step = 0;         // bytes from one entry to the next, in both
  std::uint8_t word_bytes = 8;  // of an address, and of a length: 4 or 8
  std::uint64_t count = 0;

  LayoutPiece operator[](std::uint64_t index) const;

  // Two arrays of this task's words.
  static PieceList of_arrays(const void* addresses, const void* lengths, std::uint8_t word_bytes, std::uint64_t count) {
    return {static_cast<const std::byte*>(addresses), static_cast<const std::byte*>(lengths), word_bytes, word_bytes,
            count};
  }
  static PieceList of_pieces(const void* pieces, std::uint64_t count) {
    const auto* first = static_cast<const std::byte*>(pieces);
    return {first, first + offsetof(LayoutPiece, length), sizeof(LayoutPiece), 8, count};
  }
};

class ListCursor final : public LayoutCursor {
 public:
  // `list` outlives the cursor. If the total length does not fit in 64 bits, the list ends before that.
  explicit ListCursor(const PieceList& list);
  ListCursor(const ListCursor&) = default;

  void seek(std::uint64_t position) override;
  bool expect_any_order() override;
  std::size_t next_pieces(std::span<LayoutPiece> pieces, std::uint64_t bytes) override;
  std::uint64_t piece_count() const override { return list_.count; }
  std::uint64_t list_bytes() const override { return own_list_ != nullptr ? list_.count * sizeof(LayoutPiece) : 0; }
  std::unique_ptr<LayoutCursor> clone() const override;
  std::unique_ptr<LayoutCursor> detached() const override;

 private:
  static constexpr std::uint64_t kMarkInterval = 64;  // pieces

  void go_to_mark(std::uint64_t position);

  PieceList list_;
  std::uint64_t index_ = 0;   // of the present piece
  std::uint64_t inside_ = 0;  // bytes of it that are before the position
  std::shared_ptr<const std::byte[]> own_list_;
  // Where every 64th piece begins, as far as seek() has come: it does not allocate, there may be a guard.
  std::vector<std::uint64_t> marks_;
};

class StridedCursor final : public LayoutCursor {
 public:
  // Blocks whose total does not fit in 64 bits, or that reach beyond the address space, count as none.
  explicit StridedCursor(const wire::StridedLayout& layout);
  StridedCursor(std::uint64_t address, std::uint64_t length, std::uint32_t atom_size = 0)
      : StridedCursor({address, length, length, 1}) {
    atom_size_ = atom_size;
  }
  StridedCursor(const StridedCursor&) = default;

  void seek(std::uint64_t position) override { position_ = position; }
  std::size_t next_pieces(std::span<LayoutPiece> pieces, std::uint64_t bytes) override;
  void gather(std::byte* into, std::uint64_t bytes) override;
  void scatter(const std::byte* from, std::uint64_t bytes) override;
  std::uint32_t atom_size() const override { return atom_size_; }
  std::uint64_t piece_count() const override { return layout_.count; }
  bool as_strided(wire::StridedLayout& layout) const override {
    layout = layout_;
    return true;
  }
  std::unique_ptr<LayoutCursor> clone() const override;
  std::unique_ptr<LayoutCursor> detached() const override { return clone(); }

 private:
  template <typename Copy>
  void for_each_block(std::uint64_t bytes, Copy copy);

  wire::StridedLayout layout_;
  std::uint32_t atom_size_ = 0;
};

// A cursor over a description that came from another task and was decoded. The bytes outlive the cursor.
std::unique_ptr<LayoutCursor> cursor_of(const wire::LayoutDescription& description);

// Appends the description of the layout in the form in which it is sent. False: it would be longer than `most_bytes`.
bool describe_layout(const LayoutCursor& layout, std::size_t most_bytes, std::vector<std::byte>& out);

}  // namespace openlapi
