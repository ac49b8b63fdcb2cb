// Another mapping at the same addresses with the same bytes, of which nobody is to notice.
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "shm/direct/promotable.h"

namespace openlapi::direct {

inline void* pointer_to(std::uint64_t address) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)); }

// `kind`: MAP_SHARED or MAP_PRIVATE. Not by mmap(): sanitizers that the program was built with would take the bytes for
// new ones, which this thread has just written. False: errno says why.
inline bool map_in_place(const AddressRange& range, int rights, int kind, int file, std::uint64_t offset) {
  return syscall(SYS_mmap, range.begin, range.end - range.begin, rights, kind | MAP_FIXED, file, offset) != -1;
}

}  // namespace openlapi::direct
