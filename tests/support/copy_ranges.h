// What process_vm_readv does between two lists of ranges, for memory that all belongs to this process.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>

#include "dataplane/transport/transport.h"

namespace openlapi {

// False: the lists break the promises of RemoteMemory::read_ranges().
inline bool copy_ranges(std::span<const MemoryRange> from, std::span<const MemoryRange> to) {
  if (from.size() > RemoteMemory::kMostRanges || to.size() > RemoteMemory::kMostRanges) return false;
  std::size_t i = 0, j = 0;
  std::uint64_t in_from = 0, in_to = 0;
  while (i < from.size() && j < to.size()) {
    const std::uint64_t length = std::min(from[i].length - in_from, to[j].length - in_to);
    if (length == 0) return false;
    std::memmove(reinterpret_cast<void*>(to[j].address + in_to),
                 reinterpret_cast<const void*>(from[i].address + in_from), length);
    in_from += length;
    in_to += length;
    if (in_from == from[i].length) ++i, in_from = 0;
    if (in_to == to[j].length) ++j, in_to = 0;
  }
  return i == from.size() && j == to.size();
}

}  // namespace openlapi
