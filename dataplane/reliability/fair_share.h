// Dividing a supply that all peers draw from, so that those who give nothing back never stop the others.
#pragma once

#include <cstddef>

#include "dataplane/tuning.h"

namespace openlapi {

// Whether one who holds `held` of the `used` parts may take one more. Whoever holds none always may, beyond `limit` if
// need be: so the supply is exceeded by at most one part for each peer.
constexpr bool may_take(std::size_t held, std::size_t used, std::size_t limit) {
  if (held == 0) return true;
  return used < limit && held * tuning::kPeerPartOfFree < limit - used;
}

}  // namespace openlapi
