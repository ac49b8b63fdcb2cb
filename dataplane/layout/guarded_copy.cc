#include "dataplane/layout/guarded_copy.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "dataplane/base/memory_fault_guard.h"
#include "dataplane/base/own_memory.h"
#include "dataplane/layout/vector_cursor.h"

namespace openlapi {

namespace {

constexpr std::uint64_t kPage = 4096;  // no machine has smaller ones

constinit const std::array<std::byte, kPage> zeros{};

template <class Touch>
void for_each_page(std::uint64_t address, std::uint64_t length, Touch touch) {
  if (length == 0) return;
  const std::uint64_t last = address + length - 1;
  for (; address < last; address = (address / kPage + 1) * kPage) touch(address);
  touch(last);
}

void touch_readable(const LayoutPiece& piece) {
  for_each_page(piece.address, piece.length, [](std::uint64_t address) {
    static_cast<void>(*static_cast<const volatile std::byte*>(pointer_to(address)));
  });
}

}  // namespace

bool is_readable(const LayoutCursor& layout, std::uint64_t bytes) {
  const std::unique_ptr<LayoutCursor> cursor = layout.clone();
  return survives([&] {
    std::array<LayoutPiece, kPiecesAtATime> pieces;
    for (std::uint64_t left = bytes; left != 0;) {
      const std::size_t count = cursor->next_pieces(pieces, left);
      if (count == 0) return;
      for (const LayoutPiece& piece : std::span(pieces).first(count)) {
        touch_readable(piece);
        left -= piece.length;
      }
    }
  });
}

bool gather_or_zero(LayoutCursor& layout, std::byte* into, std::uint64_t bytes) {
  if (survives([&] { layout.gather(into, bytes); })) return true;
  std::memset(into, 0, bytes);
  return false;
}

// An atomic operation that changes nothing: another thread's write in between is not lost. No fetch_or(0): clang makes
// a fence of it, and nothing is touched.
void touch_writable(std::byte* first, std::uint64_t length) {
  for_each_page(reinterpret_cast<std::uintptr_t>(first), length, [](std::uint64_t address) {
    const std::atomic_ref<unsigned char> byte(*reinterpret_cast<unsigned char*>(pointer_to(address)));
    unsigned char as_it_is = byte.load(std::memory_order_relaxed);
    while (!byte.compare_exchange_weak(as_it_is, as_it_is, std::memory_order_relaxed)) {
    }
  });
}

std::size_t ZeroCursor::next_pieces(std::span<LayoutPiece> pieces, std::uint64_t bytes) {
  bytes = std::min(bytes, bytes_left());
  std::size_t count = 0;
  while (count < pieces.size() && bytes != 0) {
    const std::uint64_t length = std::min<std::uint64_t>(bytes, zeros.size());
    pieces[count++] = {reinterpret_cast<std::uintptr_t>(zeros.data()), length};
    position_ += length;
    bytes -= length;
  }
  return count;
}

std::uint64_t ZeroCursor::piece_count() const { return total_bytes_ / zeros.size() + 1; }

std::unique_ptr<LayoutCursor> nowhere() { return std::make_unique<StridedCursor>(0, 0); }

}  // namespace openlapi
