// Names of what this task was doing, for the line that says why it dies: the call, how much, and where.
#pragma once

#include "dataplane/endpoint/fault_line.h"
#include "dataplane/message/served_packet.h"

namespace openlapi {

// False: it touches no memory of the user's, or nothing is known. `in_handler`: a function of the user's has faulted.
bool name_served(const ServedPacket& packet, bool in_handler, FaultLine& line);
bool name_moved(const MovedMessage& moved, bool in_handler, FaultLine& line);
bool name_leaving(const OutgoingMessage& message, FaultLine& line);

}  // namespace openlapi
