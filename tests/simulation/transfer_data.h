// The bytes of an operation: what they are on their way, and what they make of the place where they go.
//
// Byte n of the region that the data comes from is byte n of the pattern `key`; which of them travel, and in which
// order, its layout says. Where the destination's program combines, a byte becomes something that depends on what was
// there, which is the guard pattern: a second copy would show.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/simulation/operation.h"
#include "tests/simulation/task_memory.h"

namespace openlapi::simulation {

// Whether these are the operation's bytes, in the order in which they travel.
bool is_data_of(const Operation& operation, const std::byte* data);

// Whether all of them are in their place, which `memory` has.
bool data_is_in_place(const Operation& operation, const TaskMemory& memory);

// Writes something else over them, so that a second copy would be seen; and whether it is still there.
void overwrite_place(const Operation& operation);
bool place_is_overwritten(const Operation& operation);

// The first byte of the place, in order of travel, that is neither as before nor as it should become; the length of
// the data: there is none.
std::uint64_t first_wrong_byte(const Operation& operation, const TaskMemory& memory);

}  // namespace openlapi::simulation
