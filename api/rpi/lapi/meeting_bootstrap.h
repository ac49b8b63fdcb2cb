// A Bootstrap for processes that can send each other messages.
#pragma once

#include <memory>

#include "api/rpi/lapi/process_messages.h"
#include "control/client/bootstrap.h"

namespace openlapi::rpi {

// The first process makes the cookie, which is 0 in the others before the first exchange(). Every exchange() and
// barrier() goes through it.
std::shared_ptr<Bootstrap> open_meeting_bootstrap(std::unique_ptr<ProcessMessages> messages);

}  // namespace openlapi::rpi
