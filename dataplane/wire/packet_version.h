// The wire version: of packets, records, published addresses and the layout of shared memory (CONTRIBUTING.md). A test
// replaces it with another one.
#pragma once

#include <cstdint>

namespace openlapi::wire {

inline constexpr std::uint8_t kPacketVersion = 2;

}  // namespace openlapi::wire
