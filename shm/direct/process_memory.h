// What of this process's memory is opened to neighbours at the beginning, and what may be later.
#pragma once

#include <cstdint>

#include "shm/direct/open_memory.h"
#include "shm/shm_config.h"

namespace openlapi::direct {

// With room for so many accessors. `alone`: the program has no other thread now. Null: nothing can be opened, as
// `reach.no_promotion` says.
OpenMemory::Pointer open_process_memory(std::uint32_t accessors, bool alone, DirectReach& reach);

}  // namespace openlapi::direct
