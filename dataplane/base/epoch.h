// Epochs: numbers of a task's incarnations. They wrap round: one is before another if the distance from it to the other
// is less than half of the range.
#pragma once

#include <cstdint>

namespace openlapi {

using Epoch = std::uint64_t;  // 48 bits; never 0

constexpr bool is_earlier_incarnation(Epoch left, Epoch right) {
  return static_cast<std::int64_t>((right - left) << 16) > 0;
}

// The low bits count how often a task has begun anew with a peer that it had given up, in one incarnation.
inline constexpr unsigned kBeginningBits = 6;
constexpr bool is_same_incarnation(Epoch left, Epoch right) {
  return left >> kBeginningBits == right >> kBeginningBits;
}
constexpr Epoch incarnation_after(Epoch epoch) {
  const Epoch next = ((epoch >> kBeginningBits) + 1) << kBeginningBits & ((Epoch{1} << 48) - 1);
  return next != 0 ? next : Epoch{1} << kBeginningBits;
}
constexpr bool is_last_beginning(Epoch epoch) { return !is_same_incarnation(epoch, epoch + 1); }

}  // namespace openlapi
