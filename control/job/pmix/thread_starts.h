// Looks at the limits of this process for libraries that do not look: libpmix 4.2 goes on in silence without memory,
// and without the thread that accepts its clients, which then wait for ever in PMIx_Init.
#pragma once

#include <cstddef>
#include <string>

namespace openlapi {

// Whether so many more bytes of address space can be had.
bool memory_has_room(std::size_t bytes);

// Whether the calling thread can have so many more bytes of stack.
bool stack_has_room(std::size_t bytes);

// Why a thread of this process, of whichever library, could not be started: the first such. Empty: all were started.
std::string thread_start_failure();

}  // namespace openlapi
