// The tag of a packet. Where somebody can read packets, he can copy an association into forged ones. The tag replaces
// the association: it is a keyed function of the whole packet and of its full number, including the wraps that are not
// in the packet's 32 bits. So it is right for this packet only, and only once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/siphash.h"

namespace openlapi::wire {

// Of a packet in up to two pieces: `head` begins with the encoded header; the bytes in the tag's place are ignored.
// `wraps`: how often the packet's number has wrapped since the numbers of its pair of incarnations began.
std::uint64_t packet_tag(const SipKey& key, std::uint32_t wraps, std::span<const std::byte> head,
                         std::span<const std::byte> data);

void store_tag(std::byte* encoded_header, std::uint64_t tag);

}  // namespace openlapi::wire
