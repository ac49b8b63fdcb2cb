// The first check of every packet that arrives. A packet that is not from this job, not for this task and context, or
// damaged is counted and dropped; nothing else of it is interpreted before its association is checked.
#pragma once

#include <cstddef>
#include <span>

#include "dataplane/reliability/channel_context.h"
#include "dataplane/wire/packet_header.h"

namespace openlapi {

// True: `header` is filled in and `packet` really came from a task of this job for this context; the payload follows
// the header. The caller still has to compare the source's number with the number of tasks. Of a packet with a short
// header only the form is checked here; the rest is left to its source's channel.
bool admit_packet(ChannelContext& context, std::span<const std::byte> packet, wire::PacketHeader& header);

}  // namespace openlapi
