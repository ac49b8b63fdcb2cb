// What tasks of different wire versions say to each other: a long header and nothing else, of the version of who sends
// it, whose form never changes (wire_format.md). With the job's key it proves that it is from a task of the job, and
// names the incarnation of the task that it is for: who sees packets, or has seen them in another incarnation, cannot
// make one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/siphash.h"
#include "dataplane/wire/packet_header.h"

namespace openlapi::wire {

// Writes kPacketHeaderSize bytes. Of the header: instance, path, source, destination and epochs. `wants_answer`: the
// other one shall say its version too.
void encode_version_packet(const SipKey& job_key, const PacketHeader& header, bool wants_answer, std::byte* out);

// Whether a packet that decode() has called wrong_version, with `header`, is one for `header.destination`.
bool is_version_packet(const SipKey& job_key, std::span<const std::byte> packet, const PacketHeader& header);

}  // namespace openlapi::wire
