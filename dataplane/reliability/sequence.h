// Arithmetic of packet numbers and epochs, which wrap round: one is before another when it takes less than half of all
// steps to get from it to the other.
#pragma once

#include <cstdint>

namespace openlapi {

using Sequence = std::uint32_t;  // of a packet
using Epoch = std::uint64_t;     // of an incarnation of a task, 48 bits; never 0

// Steps from `from` to `to`; negative when `to` is before `from`.
constexpr std::int32_t distance(Sequence from, Sequence to) { return static_cast<std::int32_t>(to - from); }
constexpr bool before(Sequence left, Sequence right) { return distance(left, right) > 0; }
constexpr bool not_after(Sequence left, Sequence right) { return distance(left, right) >= 0; }

constexpr bool is_earlier_life(Epoch left, Epoch right) { return static_cast<std::int64_t>((right - left) << 16) > 0; }

}  // namespace openlapi
