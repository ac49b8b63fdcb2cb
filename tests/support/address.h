// Addresses as records and operations carry them.
#pragma once

#include <cstdint>

namespace openlapi {

inline std::uint64_t address(const void* place) { return reinterpret_cast<std::uintptr_t>(place); }

}  // namespace openlapi
