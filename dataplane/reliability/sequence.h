// Arithmetic on packet numbers, which wrap round: one is before another if the distance from it to the other is less
// than half of the range.
#pragma once

#include <cstdint>

#include "dataplane/base/epoch.h"

namespace openlapi {

using Sequence = std::uint32_t;  // of a packet

// Steps from `from` to `to`; negative when `to` is before `from`.
constexpr std::int32_t distance(Sequence from, Sequence to) { return static_cast<std::int32_t>(to - from); }
constexpr bool before(Sequence left, Sequence right) { return distance(left, right) > 0; }
constexpr bool not_after(Sequence left, Sequence right) { return distance(left, right) >= 0; }

}  // namespace openlapi
