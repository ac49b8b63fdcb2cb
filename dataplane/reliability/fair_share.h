// Sharing a supply that all peers draw from, so that peers who give nothing back never block the others.
#pragma once

#include <cstddef>

#include "dataplane/tuning.h"

namespace openlapi {

// Whether a peer that holds `held` of the `used` parts may take one more. A peer that holds none always may, even
// beyond `limit`: so the supply is exceeded by at most one part per peer.
constexpr bool may_take(std::size_t held, std::size_t used, std::size_t limit) {
  if (held == 0) return true;
  return used < limit && held * tuning::kPeerPartOfFree < limit - used;
}

}  // namespace openlapi
