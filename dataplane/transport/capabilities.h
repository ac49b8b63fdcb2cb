// What a transport may have beside its packets: small interfaces, each of which few transports have. Who uses one asks
// for it once, at set-up, and keeps the pointer. None of them has a function that need not be overridden, so that
// whoever wraps a transport can leave nothing out unnoticed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/transport/bulk_memory.h"
#include "dataplane/transport/packet.h"
#include "dataplane/transport/peer_eras.h"
#include "dataplane/transport/reliable_delivery.h"
#include "dataplane/transport/remote_memory.h"
#include "dataplane/transport/wake_source.h"

namespace openlapi {

// Peers of which some take shorter packets than TransportLimits::max_packet.
class PeerLimits {
 public:
  // Longest packet for this peer, at most TransportLimits::max_packet. The peer must have been added; stays as it is
  // until its address changes.
  virtual std::uint32_t max_packet_to(PeerIndex peer) const = 0;

 protected:
  ~PeerLimits() = default;
};

// Where packets come from. A transport that cannot tell has no such interface, and 0 in all its packets.
class PacketOrigins {
 public:
  // Where packets of `peer` come from, as IncomingPacket::origin says it: an address's number, which means nothing to
  // others. 0: nobody knows where the peer is. Changes only with the peer's address.
  virtual std::uint64_t origin_of(PeerIndex peer) const = 0;

 protected:
  ~PacketOrigins() = default;
};

// Datagrams of several packets, which a burst may end inside of.
class PackedDatagrams {
 public:
  // More of the datagram that the latest receive_burst() ended with, which had more packets than the burst had room
  // for: they are handed out, too. The answer is how many.
  virtual std::size_t receive_rest(std::span<IncomingPacket> packets) = 0;

  // The datagram that the latest receive_burst() ended with is not believed: what of it was not handed out yet is
  // thrown away.
  virtual void skip_datagram() = 0;

 protected:
  ~PackedDatagrams() = default;
};

// Whether peers still live. Every reliable transport can tell.
class PeerLiveness {
 public:
  // Whether the peer's process is known to be gone, or the end through which it was reached is, which comes to the same
  // for who sends to it. May cost a system call.
  virtual bool peer_gone(PeerIndex peer) = 0;

 protected:
  ~PeerLiveness() = default;
};

// Memory that a transport, or a library below it, needs for each thread that calls it.
class ThreadResources {
 public:
  // A thread of the library's own that may call the transport later begins: what it needs is made now, as far as there
  // is memory, and not when memory may be short.
  virtual void enter_thread() = 0;

 protected:
  ~ThreadResources() = default;
};

// Null: it has none. What is there is owned by the transport.
struct TransportCapabilities {
  RemoteMemory* remote_memory = nullptr;
  BulkMemory* bulk_memory = nullptr;
  WakeSource* wake_source = nullptr;
  ArrivalWatch* arrival_watch = nullptr;
  PeerLimits* peer_limits = nullptr;
  PacketOrigins* packet_origins = nullptr;
  PackedDatagrams* packed_datagrams = nullptr;
  PeerLiveness* peer_liveness = nullptr;
  ReliableDelivery* reliable_delivery = nullptr;
  PeerEras* peer_eras = nullptr;
  ThreadResources* thread_resources = nullptr;
};

}  // namespace openlapi
