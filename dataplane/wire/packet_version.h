// The wire version: of packets, records, published addresses and the layout of shared memory (CONTRIBUTING.md). A test
// puts another one in its place.
#pragma once

#include <cstdint>

namespace openlapi::wire {

inline constexpr std::uint8_t kPacketVersion = 2;

}  // namespace openlapi::wire
