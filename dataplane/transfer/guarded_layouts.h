// Layouts that may name memory which is not there, or not writable. A copy that meets such memory stops there
// (base/memory_fault_guard.h), and only its message suffers.
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
  // Guards all layouts from now on, or only those that ask for it.
  void guard_all(bool on) { all_ = on; }
  bool is_guarded(const LayoutCursor& layout) const { return all_ || layout.guarded(); }

  // Data for which the layout has no room is thrown away. False: some of the data could not be written.
  bool scatter(LayoutCursor& layout, std::uint64_t offset, std::span<const std::byte> data) const;

  // Within this task. False: one of the two layouts cannot be copied.
  bool copy(LayoutCursor& from, LayoutCursor& to) const;

 private:
  bool all_ = false;
};

}  // namespace openlapi
