// The program's heap, where a preloaded library has it in a file from the beginning (heap/).
#pragma once

#include <string>

#include "shm/direct/heap/preloaded_heap.h"

namespace openlapi::direct {

// The heap of this process while it is shared. Null: `reason` says why it is not.
const PreloadedHeap* find_program_heap(std::string& reason);

}  // namespace openlapi::direct
