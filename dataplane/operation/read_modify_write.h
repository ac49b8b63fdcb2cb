// The four read-modify-write operations of LAPI_Rmw and LAPI_Rmw64. They use the processor's atomic instructions, and
// so are atomic against every other access to the same word.
#pragma once

#include <cstdint>

#include "dataplane/wire/operation_header.h"

namespace openlapi {

// Whether the pair can be applied at all: a known operation and a width of 4 or 8 bytes.
bool rmw_is_valid(std::uint8_t operation, std::uint8_t width);

// Applies the operation to the word at `address` and returns its previous value; compare-and-swap returns 1 if it has
// swapped and 0 if not (guide, LAPI_Rmw). A word that is not aligned to its width is protected only by the context's
// lock.
std::uint64_t apply_rmw(wire::RmwOperation operation, std::uint8_t width, std::uint64_t address, std::uint64_t input,
                        std::uint64_t swap_value);

}  // namespace openlapi
