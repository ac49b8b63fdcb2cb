#pragma once

#include <cstdint>

namespace openlapi {

// Of a job: MAX_TASKS of lapi.h. It also bounds what a slip of the finger can start.
inline constexpr std::uint32_t kMostTasks = 16384;

}  // namespace openlapi
