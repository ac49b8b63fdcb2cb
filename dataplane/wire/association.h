// The association by which a packet proves that it is from its pair: a keyed function of everything that stays the same
// between two incarnations on a path. Without the job's key one has to guess 64 bits; knowing one pair's association
// says nothing about any other pair's, nor about the same pair's in its next incarnation.
#pragma once

#include <cstdint>

#include "dataplane/base/siphash.h"
#include "dataplane/wire/packet_header.h"

namespace openlapi::wire {

// Covers the version of these formats and the header's instance, path, source, destination and epochs; the other fields
// are ignored.
std::uint64_t association_of(const SipKey& job_key, const PacketHeader& header);

// The number of the first packet that the header's source sends to its destination while both are in these
// incarnations. Both can compute it in advance, nobody else can.
std::uint32_t first_sequence_of(const SipKey& job_key, const PacketHeader& header);

// What a packet that only tells its sender's version has in place of the association (version_packet.h); this form is
// the same in every version.
std::uint64_t version_proof_of(const SipKey& job_key, std::uint8_t version, const PacketHeader& header);

// With tags (packet_tag.h): the key for the direction and the pair of incarnations that the header names.
SipKey tag_key_of(const SipKey& job_key, const PacketHeader& header);

}  // namespace openlapi::wire
