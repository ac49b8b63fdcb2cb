// Whether addresses that came from elsewhere can be memory of this task; in a 64-bit task all can.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dataplane/base/own_memory.h"
#include "dataplane/layout/layout_cursor.h"
#include "dataplane/wire/layout_description.h"
#include "dataplane/wire/operation_header.h"

namespace openlapi {

inline bool is_own_counter(std::uint64_t address) { return is_own_memory(address, sizeof(int)); }

bool is_own_layout(const wire::LayoutDescription& layout);
bool is_own_layout(const std::byte* pieces, std::uint64_t count);  // of wire::LayoutPieces
bool is_own_layout(const wire::StridedLayout& layout);             // what wraps round is refused when it is decoded
bool is_own_layout(LayoutCursor& cursor);                          // afterwards the cursor is at its beginning

}  // namespace openlapi
