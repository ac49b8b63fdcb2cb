// A message of lapirun's, or of a helper's. Of which job it is, and whom from, says the daemon that takes it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "control/daemon/messages/daemon_message.h"

namespace openlapi::jobs {

// `to`: nodes; empty: lapirun.
inline daemon::JobMessage message_to(std::vector<std::uint32_t> to, daemon::MessageBytes body,
                                     std::uint8_t action = daemon::JobAction::kData) {
  return {.action = action, .to = std::move(to), .body = std::move(body)};
}

}  // namespace openlapi::jobs
