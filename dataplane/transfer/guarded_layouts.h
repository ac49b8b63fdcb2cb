// Layouts that name memory which is not there, or may not be written. The copy that finds out ends where it stands
// (base/memory_fault_guard.h), and its message alone suffers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/memory_fault_guard.h"
#include "dataplane/layout/layout_cursor.h"

namespace openlapi {

class GuardedLayouts {
 public:
  // From now on all layouts are guarded, or only those that ask for it.
  void guard_all(bool on) { all_ = on; }
  bool is_guarded(const LayoutCursor& layout) const { return all_ || layout.guarded(); }

  // What the layout has no room for is thrown away. False: some of the data has no place.
  bool scatter(LayoutCursor& layout, std::uint64_t offset, std::span<const std::byte> data) const;

  // Inside this task. False: one of the two cannot be copied.
  bool copy(LayoutCursor& from, LayoutCursor& to) const;

 private:
  bool all_ = false;
};

}  // namespace openlapi
