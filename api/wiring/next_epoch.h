// Epochs: numbers of the incarnations of this task, and of its new beginnings with single peers. Each is larger than
// all before it, in this process and in former ones.
#pragma once

#include <cstdint>

namespace openlapi {

// Any thread.
std::uint64_t next_epoch();

}  // namespace openlapi
