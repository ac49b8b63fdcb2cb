// A position in memory that is not contiguous: which bytes belong to a message, one after the other. The engine knows
// no vectors and no data gather/scatter programs, only this: it gathers from a cursor straight into packets, scatters
// from packets straight to where a cursor points, and reads a peer's memory piece by piece.
//
// A cursor refers to what describes the layout (lists of the caller, a registered program) and is used by one owner.
// Lengths and positions are bytes of the message: position p is its p-th byte, wherever that lies. Addresses may be
// those of another task; then only next_pieces() makes sense.
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

  // Moves to any position up to total_bytes(). Must be cheap for the present one and for those a packet further on.
  virtual void seek(std::uint64_t position) = 0;

  // Writes the next contiguous pieces, none of them empty, together at most `bytes` long, to `pieces`, moves behind
  // them, and returns how many they are. 0: the end, or no room was given.
  virtual std::size_t next_pieces(std::span<LayoutPiece> pieces, std::uint64_t bytes) = 0;

  // Copies the next `bytes` (at most bytes_left()) out of this task's memory, or into it, and moves behind them.
  virtual void gather(std::byte* into, std::uint64_t bytes);
  virtual void scatter(const std::byte* from, std::uint64_t bytes);

  // Packets must hold whole multiples of this many bytes. 0: any, nobody has said.
  virtual std::uint32_t atom_size() const { return 0; }

  // Whether scatter() only copies to what next_pieces() names, so that data may be read right into the pieces.
  virtual bool only_copies() const { return true; }

  // Whether copies between this task's memory and the layout are to be made under a guard (base/memory_fault_guard.h)
  // although the endpoint does not ask for it.
  bool guarded() const { return guarded_; }
  void set_guarded(bool guarded) { guarded_ = guarded; }

  // How many pieces the whole layout has, roughly: decides which way long messages go.
  virtual std::uint64_t piece_count() const = 0;

  // Bytes of lists that the cursor keeps for itself (detached()).
  virtual std::uint64_t list_bytes() const { return 0; }

  // True: the layout is these blocks, from the first byte to the last.
  virtual bool as_strided(wire::StridedLayout& layout) const {
    (void)layout;
    return false;
  }

  // A cursor at position 0 of the same layout that refers to the same description, or (detached) to nothing of the
  // caller's but the data.
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

// Copies min(from.bytes_left(), to.bytes_left()) bytes inside this task.
void copy_layout(LayoutCursor& from, LayoutCursor& to);

}  // namespace openlapi
