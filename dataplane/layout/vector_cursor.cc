#include "dataplane/layout/vector_cursor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <vector>

#include "dataplane/base/copy_bytes.h"
#include "dataplane/base/own_memory.h"

namespace openlapi {

namespace {

std::uint64_t load(const std::byte* from, std::uint8_t bytes) {
  if (bytes == 4) {
    std::uint32_t value;
    std::memcpy(&value, from, sizeof(value));
    return value;
  }
  std::uint64_t value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

std::uint64_t total_of(const PieceList& list) {
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < list.count; ++i) {
    if (__builtin_add_overflow(total, list[i].length, &total)) return UINT64_MAX;
  }
  return total;
}

wire::StridedLayout normalized(wire::StridedLayout layout) {
  const std::uint64_t total = wire::total_of(layout);
  if (total == 0 || total == UINT64_MAX) return {layout.base, 0, 0, 0};
  if (layout.block == layout.stride || layout.count == 1) return {layout.base, total, total, 1};
  return layout;
}

}  // namespace

LayoutPiece PieceList::operator[](std::uint64_t index) const {
  return {load(addresses + index * step, word_bytes), load(lengths + index * step, word_bytes)};
}

ListCursor::ListCursor(const PieceList& list) : LayoutCursor(total_of(list)), list_(list) {}

// From where it stands, in both directions, unless there are marks.
void ListCursor::seek(std::uint64_t position) {
  if (position == position_) return;
  position_ -= inside_;
  if (!marks_.empty()) go_to_mark(position);
  while (position < position_) position_ -= list_[--index_].length;
  while (index_ < list_.count && position - position_ >= list_[index_].length) {
    position_ += list_[index_++].length;
    if (index_ == marks_.size() * kMarkInterval && marks_.size() < marks_.capacity()) marks_.push_back(position_);
  }
  inside_ = position - position_;
  position_ = position;
}

// To the last mark before, from which seek() goes on and makes further ones.
void ListCursor::go_to_mark(std::uint64_t position) {
  const auto mark = std::ranges::upper_bound(marks_, position) - 1;
  index_ = static_cast<std::uint64_t>(mark - marks_.begin()) * kMarkInterval;
  position_ = *mark;
}

bool ListCursor::expect_any_order() {
  if (list_.count <= kMarkInterval || !marks_.empty()) return true;
  try {
    marks_.reserve(static_cast<std::size_t>(list_.count / kMarkInterval + 1));
  } catch (const std::bad_alloc&) {
    return false;
  }
  marks_.push_back(0);
  return true;
}

std::size_t ListCursor::next_pieces(std::span<LayoutPiece> pieces, std::uint64_t bytes) {
  std::size_t count = 0;
  bytes = std::min(bytes, bytes_left());
  while (count < pieces.size() && bytes != 0) {
    const LayoutPiece piece = list_[index_];
    const std::uint64_t length = std::min(piece.length - inside_, bytes);
    if (length != 0) pieces[count++] = {piece.address + inside_, length};
    bytes -= length;
    position_ += length;
    inside_ += length;
    if (inside_ == piece.length) {
      ++index_;
      inside_ = 0;
    }
  }
  return count;
}

std::unique_ptr<LayoutCursor> ListCursor::clone() const {
  auto copy = std::make_unique<ListCursor>(*this);
  copy->position_ = copy->index_ = copy->inside_ = 0;
  copy->marks_.clear();
  return copy;
}

std::unique_ptr<LayoutCursor> ListCursor::detached() const {
  auto copy = std::make_unique<ListCursor>(*this);
  copy->position_ = copy->index_ = copy->inside_ = 0;
  copy->marks_.clear();
  if (own_list_ != nullptr) return copy;
  std::shared_ptr<std::byte[]> bytes(new std::byte[list_.count * sizeof(LayoutPiece)]);
  for (std::uint64_t i = 0; i < list_.count; ++i) {
    const LayoutPiece piece = list_[i];
    std::memcpy(bytes.get() + i * sizeof(piece), &piece, sizeof(piece));
  }
  copy->list_ = PieceList::of_pieces(bytes.get(), list_.count);
  copy->own_list_ = std::move(bytes);
  return copy;
}

StridedCursor::StridedCursor(const wire::StridedLayout& layout) : LayoutCursor(0), layout_(normalized(layout)) {
  total_bytes_ = layout_.block * layout_.count;
}

std::size_t StridedCursor::next_pieces(std::span<LayoutPiece> pieces, std::uint64_t bytes) {
  bytes = std::min(bytes, bytes_left());
  if (bytes == 0) return 0;
  std::uint64_t inside = position_ % layout_.block;
  std::uint64_t block = layout_.base + position_ / layout_.block * layout_.stride;
  std::size_t count = 0;
  while (count < pieces.size() && bytes != 0) {
    const std::uint64_t length = std::min(layout_.block - inside, bytes);
    pieces[count++] = {block + inside, length};
    block += layout_.stride;
    inside = 0;
    bytes -= length;
    position_ += length;
  }
  return count;
}

template <typename Copy>
void StridedCursor::for_each_block(std::uint64_t bytes, Copy copy) {
  bytes = std::min(bytes, bytes_left());
  if (bytes == 0) return;
  std::uint64_t inside = position_ % layout_.block;
  std::byte* block = pointer_to(layout_.base + position_ / layout_.block * layout_.stride);
  position_ += bytes;
  while (bytes != 0) {
    const std::uint64_t length = std::min(layout_.block - inside, bytes);
    copy(block + inside, length);
    block += layout_.stride;
    inside = 0;
    bytes -= length;
  }
}

void StridedCursor::gather(std::byte* into, std::uint64_t bytes) {
  for_each_block(bytes, [&](const std::byte* block, std::uint64_t length) {
    copy_bytes(into, block, length);
    into += length;
  });
}

void StridedCursor::scatter(const std::byte* from, std::uint64_t bytes) {
  for_each_block(bytes, [&](std::byte* block, std::uint64_t length) {
    copy_bytes(block, from, length);
    from += length;
  });
}

std::unique_ptr<LayoutCursor> StridedCursor::clone() const {
  auto copy = std::make_unique<StridedCursor>(*this);
  copy->position_ = 0;
  return copy;
}

std::unique_ptr<LayoutCursor> cursor_of(const wire::LayoutDescription& description) {
  if (description.kind == wire::LayoutKind::strided) return std::make_unique<StridedCursor>(description.strided);
  return std::make_unique<ListCursor>(PieceList::of_pieces(description.pieces, description.count));
}

bool describe_layout(const LayoutCursor& layout, std::size_t most_bytes, std::vector<std::byte>& out) {
  wire::StridedLayout strided;
  if (layout.as_strided(strided)) {
    wire::append_description(out, strided);
    return true;
  }
  const std::unique_ptr<LayoutCursor> cursor = layout.clone();
  const std::size_t most_pieces = most_bytes / sizeof(LayoutPiece);
  std::vector<LayoutPiece> pieces(std::min<std::uint64_t>(layout.piece_count(), most_pieces));
  std::size_t count = 0;
  while (cursor->bytes_left() != 0) {
    if (count == most_pieces) return false;
    if (count == pieces.size()) pieces.resize(std::min(2 * count + 1, most_pieces));
    count += cursor->next_pieces(std::span(pieces).subspan(count), cursor->bytes_left());
  }
  wire::append_description(out, std::span(pieces).first(count), layout.total_bytes());
  return true;
}

}  // namespace openlapi
