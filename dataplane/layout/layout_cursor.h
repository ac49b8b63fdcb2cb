// A position in memory that is not contiguous: it defines which bytes belong to a message, one after the other. The
// engine knows neither vectors nor data gather/scatter programs, only cursors: it gathers from a cursor directly into
// packets, scatters from packets directly to a cursor's place, and reads a peer's memory piece by piece.
//
// A cursor refers to the description of its layout (the caller's lists, a registered program) and has one owner.
// Lengths and positions are bytes of the message: position p is its p-th byte, wherever that lies. Addresses may be
// those of another task; then only next_pieces() can be used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "dataplane/wire/layout_description.h"

namespace openlapi {

using LayoutPiece = wire::LayoutPiece;
inline constexpr std::size_t kPiecesAtATime = 64;  // for loops over next_pieces()

class LayoutCursor {
 public:
  virtual ~LayoutCursor() = default;
  LayoutCursor& operator=(const LayoutCursor&) = delete;

  std::uint64_t total_bytes() const { return total_bytes_; }  // constant
  std::uint64_t position() const { return position_; }        // 0 at first, at most total_bytes()
  std::uint64_t bytes_left() const { return total_bytes_ - position_; }

  // Moves to any position up to total_bytes(). Must be cheap for the present position and for those up to a packet
  // ahead; after expect_any_order(), for all.
  virtual void seek(std::uint64_t position) = 0;

  // False: data that is scattered must come in order, since more than its place matters, or there is no memory.
  virtual bool expect_any_order() { return only_copies(); }

  // Stores the next contiguous pieces, none of them empty and together at most `bytes` long, in `pieces`, moves behind
  // them, and returns their number. 0: the end, or `pieces` is empty.
  virtual std::size_t next_pieces(std::span<LayoutPiece> pieces, std::uint64_t bytes) = 0;

  // Copies the next `bytes` (at most bytes_left()) out of this task's memory, or into it, and moves behind them.
  virtual void gather(std::byte* into, std::uint64_t bytes);
  virtual void scatter(const std::byte* from, std::uint64_t bytes);

  // Packets must hold whole multiples of this many bytes. 0: any.
  virtual std::uint32_t atom_size() const { return 0; }

  // Whether scatter() only copies to what next_pieces() returns, so that data may be read directly into the pieces.
  virtual bool only_copies() const { return true; }

  // Whether copies between this task's memory and the layout need a guard (base/memory_fault_guard.h) even if the
  // endpoint does not ask for one.
  bool guarded() const { return guarded_; }
  void set_guarded(bool guarded) { guarded_ = guarded; }

  // Approximate number of pieces in the whole layout, by which it is decided how a long message travels.
  virtual std::uint64_t piece_count() const = 0;

  // Bytes of lists that the cursor itself keeps (after detached()).
  virtual std::uint64_t list_bytes() const { return 0; }

  // True: the layout consists of these blocks, from the first byte to the last.
  virtual bool as_strided(wire::StridedLayout& layout) const {
    (void)layout;
    return false;
  }

  // A cursor at position 0 of the same layout. It refers to the same description, or (detached) to nothing of the
  // caller's except the data.
  virtual std::unique_ptr<LayoutCursor> clone() const = 0;
  virtual std::unique_ptr<LayoutCursor> detached() const = 0;

 protected:
  explicit LayoutCursor(std::uint64_t total_bytes) : total_bytes_(total_bytes) {}
  LayoutCursor(const LayoutCursor&) = default;
  LayoutCursor(LayoutCursor&&) = default;

  std::uint64_t position_ = 0;
  std::uint64_t total_bytes_;
  bool guarded_ = false;
};

// Copies min(from.bytes_left(), to.bytes_left()) bytes within this task.
void copy_layout(LayoutCursor& from, LayoutCursor& to);

}  // namespace openlapi
