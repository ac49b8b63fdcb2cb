// What the engine's faults mean for a process that talks to a peer.
#pragma once

#include "dataplane/host/handler_host.h"

namespace openlapi::rpi {

// Whether the peer can be talked to no more.
bool is_loss(Fault fault);
// One line.
const char* text_of(Fault fault);

}  // namespace openlapi::rpi
