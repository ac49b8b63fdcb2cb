// Bytes in some task's memory: this one's, or another task's, whose addresses mean nothing here.
#pragma once

#include <cstdint>

namespace openlapi {

struct MemoryRange {
  std::uint64_t address;
  std::uint64_t length;  // bytes
};

}  // namespace openlapi
