// The first thing that an arrived packet meets. What is not from this job, not for this task and context, or damaged
// is counted and dropped; the association is looked at before anything is made of the rest.
#pragma once

#include <cstddef>
#include <span>

#include "dataplane/reliability/channel_context.h"
#include "dataplane/wire/packet_header.h"

namespace openlapi {

// True: `header` is complete and `packet` really came from a task of this job for this context; its payload is what
// follows the header. The source's number still has to be compared with the number of tasks. Of a packet with a short
// header all but its form is left to the channel of its source.
bool admit_packet(ChannelContext& context, std::span<const std::byte> packet, wire::PacketHeader& header);

}  // namespace openlapi
