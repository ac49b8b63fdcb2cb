// Epochs: numbers of this task's incarnations, and of its new beginnings with single peers. Each is larger than all
// earlier ones, of this process and of former ones.
#pragma once

#include <cstdint>

namespace openlapi {

// Any thread.
std::uint64_t next_epoch();

}  // namespace openlapi
