// A packet's tag: where somebody can see packets, an association can be copied from one of them into forged ones. The
// tag takes the association's place and is a keyed function of the whole packet and of its number with the wraps that
// the packet's 32 bits leave out: it is right for this packet only, and once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/siphash.h"

namespace openlapi::wire {

// Of a packet in up to two pieces: `head` begins with the encoded header, what is in the tag's place does not matter.
// `wraps`: how often the packet's number has wrapped round since the numbers of its pair of incarnations began.
std::uint64_t packet_tag(const SipKey& key, std::uint32_t wraps, std::span<const std::byte> head,
                         std::span<const std::byte> data);

void store_tag(std::byte* encoded_header, std::uint64_t tag);

}  // namespace openlapi::wire
