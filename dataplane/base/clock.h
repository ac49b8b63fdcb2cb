// Time as the engine sees it: an interface, so that a simulation can advance it by hand.
#pragma once

#include <cstdint>

namespace openlapi {

using Nanoseconds = std::uint64_t;  // since some fixed, unspecified moment; never goes back

inline constexpr Nanoseconds kMicrosecond = 1'000;
inline constexpr Nanoseconds kMillisecond = 1'000'000;
inline constexpr Nanoseconds kSecond = 1'000'000'000;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Nanoseconds now() const = 0;
};

}  // namespace openlapi
