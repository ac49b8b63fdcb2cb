// The end of an endpoint whose peers live on.
#pragma once

#include "dataplane/base/clock.h"
#include "dataplane/peers/peer_table.h"

namespace openlapi {

// Peers that have just sent something may not have had its acknowledgement. What they send again will find nobody, so
// they would wait for it in their own ends, and call it lost.
void say_farewell(const PeerTable& peers, Nanoseconds now);

}  // namespace openlapi
