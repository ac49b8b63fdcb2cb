// Arithmetic of packet numbers and epochs, which wrap round at 2^32: one is before another when it takes less than 2^31
// steps to get from it to the other.
#pragma once

#include <cstdint>

namespace openlapi {

using Sequence = std::uint32_t;

// Steps from `from` to `to`; negative when `to` is before `from`.
constexpr std::int32_t distance(Sequence from, Sequence to) { return static_cast<std::int32_t>(to - from); }
constexpr bool before(Sequence left, Sequence right) { return distance(left, right) > 0; }
constexpr bool not_after(Sequence left, Sequence right) { return distance(left, right) >= 0; }

}  // namespace openlapi
