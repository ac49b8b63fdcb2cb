#include "dataplane/transfer/guarded_layouts.h"

#include "dataplane/layout/guarded_copy.h"

namespace openlapi {

namespace {

void scatter_at(LayoutCursor& layout, std::uint64_t offset, std::span<const std::byte> data) {
  if (offset >= layout.total_bytes()) return;
  layout.seek(offset);
  layout.scatter(data.data(), std::min<std::uint64_t>(data.size(), layout.bytes_left()));
}

}  // namespace

bool GuardedLayouts::scatter(LayoutCursor& layout, std::uint64_t offset, std::span<const std::byte> data) const {
  if (is_guarded(layout)) return survives([&] { scatter_at(layout, offset, data); });
  scatter_at(layout, offset, data);
  return true;
}

bool GuardedLayouts::copy(LayoutCursor& from, LayoutCursor& to) const {
  if (is_guarded(from) || is_guarded(to)) return survives([&] { copy_layout(from, to); });
  copy_layout(from, to);
  return true;
}

}  // namespace openlapi
