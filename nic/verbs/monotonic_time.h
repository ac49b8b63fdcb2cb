// The clock for the deadlines of connections: when to ask again, to stop, to give up.
#pragma once

#include <time.h>

#include <cstdint>

namespace openlapi::verbs {

inline std::uint64_t milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000 + static_cast<std::uint64_t>(now.tv_nsec) / 1'000'000;
}

}  // namespace openlapi::verbs
