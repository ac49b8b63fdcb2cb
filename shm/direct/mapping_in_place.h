// The process's mappings of a file, and others at the same addresses with the same bytes, of which nobody is to notice.
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "dataplane/base/process_maps.h"
#include "shm/direct/promotable.h"

namespace openlapi::direct {

inline void* pointer_to(std::uint64_t address) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)); }

// `kind`: MAP_SHARED or MAP_PRIVATE. Not by mmap(): sanitizers that the program was built with would take the bytes for
// new ones, which this thread has just written. False: errno says why.
inline bool map_in_place(const AddressRange& range, int rights, int kind, int file, std::uint64_t offset) {
  return syscall(SYS_mmap, range.begin, range.end - range.begin, rights, kind | MAP_FIXED, file, offset) != -1;
}

// A private mapping in place of a shared one of the file, that has none of the file's bytes: whoever still stores into
// the file does not change it. Where there is no memory for a copy, some of it stays the file's.
inline void copy_in_place(const AddressRange& range, int rights, int file, std::uint64_t offset) {
  constexpr int kWritable = PROT_READ | PROT_WRITE, kPopulateWrite = 23;  // MADV_POPULATE_WRITE, since Linux 5.14
  if (!map_in_place(range, kWritable, MAP_PRIVATE, file, offset)) return;
  void* const memory = pointer_to(range.begin);
  const std::uint64_t length = range.end - range.begin;
  while (madvise(memory, length, kPopulateWrite) != 0 && (errno == EINTR || errno == EAGAIN)) continue;
  if (rights != kWritable) mprotect(memory, length, rights);
}

inline int rights_of(const Mapping& mapping) {
  return (mapping.readable ? PROT_READ : 0) | (mapping.writable ? PROT_WRITE : 0);
}

// By the kernel's own list: so it has what mremap() has moved or made longer. Calls visit(mapping) for each shared
// mapping of the file. False: there is no list.
template <typename Visit>
bool each_mapping_of(int file, const MappingList& list, Visit visit) {
  struct stat status {};
  if (fstat(file, &status) != 0) return false;
  return list.each([&](const Mapping& mapping) {
    if (mapping.shared && mapping.inode == status.st_ino && mapping.device == status.st_dev) visit(mapping);
    return true;
  });
}

}  // namespace openlapi::direct
