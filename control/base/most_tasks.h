#pragma once

#include <cstdint>

namespace openlapi {

// The most tasks of a job: MAX_TASKS of lapi.h. It also bounds what a mistyped number can start.
inline constexpr std::uint32_t kMostTasks = 16384;

}  // namespace openlapi
