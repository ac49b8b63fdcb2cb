// Steps of the engine's loop, as who drives it tells them apart.
#pragma once

#include <cstdint>

namespace openlapi {

enum class Step : std::uint8_t {
  first,  // time may have passed since the last one
  again,  // right behind one that found nothing: it may leave the clock alone
};

}  // namespace openlapi
