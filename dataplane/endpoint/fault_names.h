// Describes what this task was doing, for the line that says why it dies: the call, how much data, and where.
#pragma once

#include "dataplane/endpoint/fault_line.h"
#include "dataplane/message/served_packet.h"

namespace openlapi {

// False: it does not touch the user's memory, or nothing is known. `in_handler`: the fault is in a function of the
// user's.
bool name_served(const ServedPacket& packet, bool in_handler, FaultLine& line);
bool name_moved(const MovedMessage& moved, bool in_handler, FaultLine& line);
bool name_leaving(const OutgoingMessage& message, FaultLine& line);

}  // namespace openlapi
