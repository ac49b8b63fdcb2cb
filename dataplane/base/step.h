// Kinds of steps of the engine's loop, chosen by whoever drives it.
#pragma once

#include <cstdint>

namespace openlapi {

enum class Step : std::uint8_t {
  first,  // time may have passed since the last one
  again,  // right after one that found nothing: it need not look at the clock
  // For a task that makes no calls: what it has sent, or given away to be sent (the origin counter has moved), reaches
  // its target, and what it has taken is acknowledged, however often both are lost. Nothing new is taken, no handler
  // runs, the program's memory is not read but for what is sent again, nobody is taken for lost.
  upkeep,
};

}  // namespace openlapi
