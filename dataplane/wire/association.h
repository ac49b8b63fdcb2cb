// What a packet proves that it is from its pair with: a keyed function of everything that does not change between two
// incarnations on a path. Who does not have the job's key has to guess 64 bits; who has seen one pair's association
// knows nothing of any other's, nor of the same pair's in its next incarnation.
#pragma once

#include <cstdint>

#include "dataplane/base/siphash.h"
#include "dataplane/wire/packet_header.h"

namespace openlapi::wire {

// Of the version of these formats, and of a header's instance, path, source, destination and epochs; all the rest of
// it is not looked at.
std::uint64_t association_of(const SipKey& job_key, const PacketHeader& header);

// The number of the first packet that the header's source sends to its destination while both are in those
// incarnations. Both know it beforehand, nobody else can.
std::uint32_t first_sequence_of(const SipKey& job_key, const PacketHeader& header);

// What a packet that tells only the version of who sends it has in the place of the association (version_packet.h), in
// this form in every version.
std::uint64_t version_proof_of(const SipKey& job_key, std::uint8_t version, const PacketHeader& header);

// With tags (packet_tag.h) the key of the direction and pair of incarnations that the header names.
SipKey tag_key_of(const SipKey& job_key, const PacketHeader& header);

}  // namespace openlapi::wire
