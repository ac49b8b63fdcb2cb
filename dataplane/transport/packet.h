// What crosses the border between the engine and a transport: bytes to send, bytes that arrived.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/copy_bytes.h"

namespace openlapi {

// A task's number in its job, 0 .. tasks-1.
using PeerIndex = std::uint32_t;
inline constexpr PeerIndex kUnknownPeer = UINT32_MAX;

// One contiguous piece of memory that is only read.
struct ConstBuffer {
  const void* data;
  std::size_t length;
};

// Copies the pieces, one behind the other, and returns where the next one would go. An empty piece may be null.
[[gnu::always_inline]] inline std::byte* copy_pieces(std::byte* out, std::span<const ConstBuffer> pieces) {
  for (const ConstBuffer& piece : pieces) {
    copy_bytes(out, static_cast<const std::byte*>(piece.data), piece.length);
    out += piece.length;
  }
  return out;
}

// One packet to send: its pieces, in order, make the packet's bytes. The pieces belong to the caller, who may change
// or free them as soon as send_burst() has returned.
struct OutgoingPacket {
  std::span<const ConstBuffer> pieces;
  std::uint32_t length;  // sum of the pieces' lengths, at most TransportLimits::max_packet
};

// One packet that arrived. `data` is 8-byte aligned, belongs to the transport, and stays valid and writable until the
// packet is given back with release(). Without initial values: a step has room for many, and few arrive.
struct IncomingPacket {
  std::byte* data;
  std::uint32_t length;
  PeerIndex source;  // the sender when the transport itself can prove it (shared memory), else kUnknownPeer
  // It came in the same datagram as the packet before it, or may have: who finds one of them wrong believes none.
  bool same_datagram;
  std::uint64_t origin;  // the address that it came from, as PacketOrigins says it; 0: not known
};

}  // namespace openlapi
