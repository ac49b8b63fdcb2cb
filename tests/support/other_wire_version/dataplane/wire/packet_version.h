// In the place of the one of that path, for a library of another wire version.
#pragma once

#include <cstdint>

namespace openlapi::wire {

inline constexpr std::uint8_t kPacketVersion = 3;

}  // namespace openlapi::wire
