// The size of the memory files of direct access, whoever makes them.
#pragma once

#include <fcntl.h>

#include <cstdint>

namespace openlapi::direct {

inline constexpr std::uint64_t kFileSize = std::uint64_t{1} << 60;
// Nobody can change it: pages cannot be taken away from under those who map the file.
inline constexpr int kFileSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

}  // namespace openlapi::direct
