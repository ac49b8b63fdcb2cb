// The interface between the engine and everything that moves packets. A transport carries bytes that it does not
// interpret; it knows nothing of messages, acknowledgements or the job's key.
//
// Threads: the engine calls a transport with the context's lock held, so no two calls run at the same time. Only the
// descriptor of WakeSource::descriptor() may be used by another thread (to sleep on it).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "dataplane/transport/capabilities.h"
#include "dataplane/transport/packet.h"

namespace openlapi {

// A transport's address as the job's tasks exchange it: opaque, of bounded length. length 0: it has none here.
struct PeerAddress {
  static constexpr std::size_t kCapacity = 64;
  std::array<std::byte, kCapacity> bytes{};
  std::uint32_t length = 0;

  std::span<const std::byte> view() const { return {bytes.data(), length}; }
  bool operator==(const PeerAddress& other) const { return std::ranges::equal(view(), other.view()); }
};

// What a transport promises; does not change after construction.
struct TransportLimits {
  std::uint32_t max_packet;  // longest packet in bytes
  std::uint32_t max_burst;   // most packets that one send_burst() can take
  bool reliable;             // true: every accepted packet arrives once, in order per sender, unless the peer dies
  bool checked;              // true: damaged packets never reach receive_burst(); false: the engine adds a checksum
};

// Counters that only the transport can keep; read by the statistics queries.
struct TransportCounters {
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_received = 0;
  std::uint64_t send_refused = 0;     // send_burst() calls that could not take everything
  std::uint64_t receive_dropped = 0;  // arrivals that were not packets, and packets that were skipped
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual std::string_view name() const = 0;  // "shm", "udp", ...
  virtual const TransportLimits& limits() const = 0;
  // Changes only in LinkStatus::look(), if at all.
  virtual PeerAddress local_address() const = 0;

  // Makes `peer` reachable; may be called again with another address (the peer came back elsewhere). May block for
  // milliseconds, never for long. False: this transport cannot serve that peer, and `error` says why; or it does not
  // know yet (PeerSearch).
  virtual bool add_peer(PeerIndex peer, const PeerAddress& address, std::string& error) = 0;

  // Sends packets to one peer, in order, and returns how many were taken. Fewer than offered means "full, try again",
  // which is normal and no error. Never blocks. On return the packets that were taken have been copied or handed to the
  // kernel. Packets to a peer that no longer exists count as taken (and lost); reliable transports, whose losses
  // nothing else would show, may instead refuse them as long as PeerLiveness reports it. The peer must have been added.
  // A call on a reliable transport may be left by a jump when a piece lies in user memory that is not there
  // (base/memory_fault_guard.h); ReliableDelivery::send_abandoned() is called next.
  virtual std::size_t send_burst(PeerIndex peer, std::span<const OutgoingPacket> packets) = 0;

  // Fills `packets` with what has arrived and returns how many. Never blocks.
  virtual std::size_t receive_burst(std::span<IncomingPacket> packets) = 0;

  // Releases the oldest `count` packets, in the order in which receive_burst() returned them. More packets may be held
  // than one burst returns; a transport that runs out of room simply receives no more.
  virtual void release(std::size_t count) = 0;

  // What the transport can do besides packets; does not change after construction. A wrapper starts with the
  // capabilities of the transport inside and replaces those that it changes.
  virtual TransportCapabilities capabilities() = 0;

  virtual TransportCounters counters() const = 0;
};

// Longest packet for the peer, which must have been added; the value stays until the peer's address changes.
inline std::uint32_t max_packet_to(Transport& transport, PeerIndex peer) {
  const PeerLimits* const limits = transport.capabilities().peer_limits;
  return limits != nullptr ? limits->max_packet_to(peer) : transport.limits().max_packet;
}

// Packets that may be on their way to it, likewise.
inline std::uint32_t max_packets_to(Transport& transport, PeerIndex peer) {
  const PeerLimits* const limits = transport.capabilities().peer_limits;
  return limits != nullptr ? limits->max_packets_to(peer) : UINT32_MAX;
}

}  // namespace openlapi
