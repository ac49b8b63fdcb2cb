// Bytes of some task's memory: of this one, or of another one, whose addresses mean nothing here.
#pragma once

#include <cstdint>

namespace openlapi {

struct MemoryRange {
  std::uint64_t address;
  std::uint64_t length;  // bytes
};

}  // namespace openlapi
