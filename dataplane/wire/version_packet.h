// The packet by which tasks of different wire versions recognise each other: only a long header, of the sender's
// version, in a form that never changes (wire_format.md). With the job's key it proves that it is from a task of the
// job, and it names the receiver's incarnation: so nobody who reads packets, or has read them in another incarnation,
// can make one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/siphash.h"
#include "dataplane/wire/packet_header.h"

namespace openlapi::wire {

// Writes kPacketHeaderSize bytes. Uses the header's instance, path, source, destination and epochs. `wants_answer`: the
// receiver shall send its version, too.
void encode_version_packet(const SipKey& job_key, const PacketHeader& header, bool wants_answer, std::byte* out);

// Whether a packet that decode() called wrong_version, with `header`, is a version packet for `header.destination`.
bool is_version_packet(const SipKey& job_key, std::span<const std::byte> packet, const PacketHeader& header);

}  // namespace openlapi::wire
