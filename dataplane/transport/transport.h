// The border between the engine and everything that moves packets. A transport carries bytes that it does not
// understand; it knows nothing of messages, acknowledgements or the job's key.
//
// Threads: the engine calls a transport with the context's lock held, so no two calls run at the same time. Only
// WakeSource::descriptor() may be used from another thread (to sleep on it).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "dataplane/transport/capabilities.h"
#include "dataplane/transport/packet.h"

namespace openlapi {

// A transport's address as the job's tasks exchange it: opaque, bounded bytes. length 0: the transport has none here.
struct PeerAddress {
  static constexpr std::size_t kCapacity = 64;
  std::array<std::byte, kCapacity> bytes{};
  std::uint32_t length = 0;

  std::span<const std::byte> view() const { return {bytes.data(), length}; }
};

// What a transport promises; fixed from its construction on.
struct TransportLimits {
  std::uint32_t max_packet;  // longest packet in bytes
  std::uint32_t max_burst;   // most packets that one send_burst() can take
  bool reliable;             // true: every accepted packet arrives once, in order per sender, unless the peer dies
  bool checked;              // true: damaged packets never reach receive_burst(); false: the engine adds a checksum
};

// Counters that only the transport can keep; plain numbers, read by the statistics queries.
struct TransportCounters {
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_received = 0;
  std::uint64_t send_refused = 0;     // send_burst() calls that could not take everything
  std::uint64_t receive_dropped = 0;  // arrivals that were no packets at all, or whose rest was skipped
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual std::string_view name() const = 0;  // "shm", "udp", ...
  virtual const TransportLimits& limits() const = 0;
  virtual PeerAddress local_address() const = 0;

  // Makes `peer` reachable; may be called again with another address (the peer came back elsewhere). May block for
  // milliseconds, never for long. False and a reason in `error`: this transport cannot serve that peer.
  virtual bool add_peer(PeerIndex peer, const PeerAddress& address, std::string& error) = 0;

  // Takes packets for one peer, in order, and returns how many it took. Fewer than offered means "full, try again":
  // normal, not an error. Never blocks. Packets that were taken are copied or handed to the kernel on return. A packet
  // to a peer that no longer exists counts as taken (and lost), or is refused for as long as PeerLiveness says so, as
  // by reliable transports, whose losses nothing else would show. The peer must have been added.
  // A reliable transport's call may be left by a jump, when a piece lies in memory of the user's that is not there
  // (base/memory_fault_guard.h); then ReliableDelivery::send_abandoned() follows.
  virtual std::size_t send_burst(PeerIndex peer, std::span<const OutgoingPacket> packets) = 0;

  // Fills `packets` with what has arrived and returns how many. Never blocks.
  virtual std::size_t receive_burst(std::span<IncomingPacket> packets) = 0;

  // Gives the oldest `count` packets back, in the order in which receive_burst() returned them. More may be held at a
  // time than one burst; a transport whose room runs out then simply receives no more.
  virtual void release(std::size_t count) = 0;

  // What the transport has beside its packets; fixed from its construction on. A wrapper begins with what the
  // transport inside has, and puts itself in the place of what it changes.
  virtual TransportCapabilities capabilities() = 0;

  virtual TransportCounters counters() const = 0;
};

// Longest packet for the peer, which must have been added; stays as it is until its address changes.
inline std::uint32_t max_packet_to(Transport& transport, PeerIndex peer) {
  const PeerLimits* const limits = transport.capabilities().peer_limits;
  return limits != nullptr ? limits->max_packet_to(peer) : transport.limits().max_packet;
}

}  // namespace openlapi
