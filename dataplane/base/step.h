// Kinds of steps of the engine's loop, chosen by whoever drives it.
#pragma once

#include <cstdint>

namespace openlapi {

enum class Step : std::uint8_t {
  first,  // time may have passed since the last one
  again,  // right after one that found nothing: it need not look at the clock
};

}  // namespace openlapi
