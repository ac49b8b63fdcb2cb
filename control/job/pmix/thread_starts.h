// What the limits of this process leave to libraries that do not look: libpmix 4.2 goes on in silence without memory,
// and without the thread that accepts its clients, which then wait for ever in PMIx_Init.
#pragma once

#include <cstddef>
#include <string>

namespace openlapi {

// So many more bytes of addresses can be had.
bool memory_has_room(std::size_t bytes);

// So many more bytes of stack can the calling thread have.
bool stack_has_room(std::size_t bytes);

// Why the first thread that could not be started in this process, by any library, could not. Empty: all were started.
std::string thread_start_failure();

}  // namespace openlapi
