// How long poll() may wait.
#pragma once

#include <algorithm>
#include <chrono>

namespace openlapi::boot {

// In whole milliseconds, rounded up, at most a minute: whoever waits longer asks again.
inline int milliseconds_until(std::chrono::steady_clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<decltype(left)>(left, 0, 60'000));
}

}  // namespace openlapi::boot
