// When something is to be done, if ever, and how long poll() may wait for it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>

namespace openlapi {

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

inline Deadline earliest(std::initializer_list<Deadline> deadlines) {
  Deadline first;
  for (const Deadline& deadline : deadlines) {
    if (deadline && (!first || *deadline < *first)) first = deadline;
  }
  return first;
}

// For poll(): in whole milliseconds, rounded up; -1: for ever. At most a quarter of an hour; whoever waits longer asks
// again.
inline int milliseconds_until(const Deadline& deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 900'000));
}

}  // namespace openlapi
