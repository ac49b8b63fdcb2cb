// What engine and transport exchange: bytes to send, and bytes that have arrived.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/copy_bytes.h"

namespace openlapi {

// A task's number in its job, 0 .. tasks-1.
using PeerIndex = std::uint32_t;
inline constexpr PeerIndex kUnknownPeer = UINT32_MAX;

// A contiguous piece of memory that is only read.
struct ConstBuffer {
  const void* data;
  std::size_t length;
};

// Copies the pieces one after the other and returns where the next one would go. An empty piece may be null.
[[gnu::always_inline]] inline std::byte* copy_pieces(std::byte* out, std::span<const ConstBuffer> pieces) {
  for (const ConstBuffer& piece : pieces) {
    copy_bytes(out, static_cast<const std::byte*>(piece.data), piece.length);
    out += piece.length;
  }
  return out;
}

// A packet to send: the concatenation of its pieces. The pieces belong to the caller, who may change or free them as
// soon as send_burst() has returned.
struct OutgoingPacket {
  std::span<const ConstBuffer> pieces;
  std::uint32_t length;  // sum of the pieces' lengths, at most TransportLimits::max_packet
};

// A packet that has arrived. `data` is 8-byte aligned, belongs to the transport, and stays valid and writable until
// release(). No default values: a step has room for many packets, but few arrive.
struct IncomingPacket {
  std::byte* data;
  std::uint32_t length;
  PeerIndex source;  // the sender, if the transport itself can prove it (shared memory); else kUnknownPeer
  // The packet came, or may have come, in the same datagram as the one before. If one packet of a datagram is wrong,
  // none of them is believed.
  bool same_datagram;
  std::uint64_t origin;  // the address it came from, as in PacketOrigins; 0: not known
};

}  // namespace openlapi
