// What a transport can do besides sending packets: small interfaces, each of which only some transports have. A user
// asks for an interface once, at set-up, and keeps the pointer. All their functions are pure virtual, so that a wrapper
// around a transport cannot forget one unnoticed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/transport/bulk_memory.h"
#include "dataplane/transport/direct_memory.h"
#include "dataplane/transport/link_status.h"
#include "dataplane/transport/one_sided_memory.h"
#include "dataplane/transport/packet.h"
#include "dataplane/transport/peer_eras.h"
#include "dataplane/transport/reliable_delivery.h"
#include "dataplane/transport/remote_memory.h"
#include "dataplane/transport/wake_source.h"

namespace openlapi {

// For transports whose peers differ in what they take.
class PeerLimits {
 public:
  // Longest packet for this peer, at most TransportLimits::max_packet. The peer must have been added; the value stays
  // until its address changes.
  virtual std::uint32_t max_packet_to(PeerIndex peer) const = 0;
  // Packets that may be on their way to this peer, unacknowledged: while every sender keeps to that, it has room for
  // all. UINT32_MAX: it is not known. As above.
  virtual std::uint32_t max_packets_to(PeerIndex peer) const = 0;

 protected:
  ~PeerLimits() = default;
};

// Where packets come from. A transport that cannot tell does not have this interface, and sets 0 in all its packets.
class PacketOrigins {
 public:
  // Where packets of `peer` come from, in the form of IncomingPacket::origin: a number for its address, without meaning
  // to anybody else. 0: it is not known, or is told of other ends alone. Changes only with the peer's address.
  virtual std::uint64_t origin_of(PeerIndex peer) const = 0;

 protected:
  ~PacketOrigins() = default;
};

// For transports that put several packets into one datagram, so that a burst may end within a datagram.
class PackedDatagrams {
 public:
  // Hands out more packets of the datagram in which the latest receive_burst() ended, because it had more packets than
  // the burst had room for. Returns how many.
  virtual std::size_t receive_rest(std::span<IncomingPacket> packets) = 0;

  // The datagram in which the latest receive_burst() ended is not believed: throws away the packets of it that were not
  // handed out yet.
  virtual void skip_datagram() = 0;

 protected:
  ~PackedDatagrams() = default;
};

// For transports that may need seconds to find out whether they can serve a peer.
class PeerSearch {
 public:
  // Whether the latest add_peer(), which has answered false, did so because that is not known yet: the peer is looked
  // for, and add_peer() is to be asked again.
  virtual bool is_undecided() const = 0;

 protected:
  ~PeerSearch() = default;
};

// Whether peers are still alive. Every reliable transport has it.
class PeerLiveness {
 public:
  // Whether the peer's process is known to have ended, or the connection through which it was reached, which is the
  // same for its senders. May cost a system call.
  virtual bool peer_gone(PeerIndex peer) = 0;

 protected:
  ~PeerLiveness() = default;
};

// Memory that a transport, or a library below it, needs for each thread that calls it.
class ThreadResources {
 public:
  // Called at the start of a library thread that may call the transport later: allocates what the thread needs now, if
  // there is memory, instead of later, when memory may be short.
  virtual void enter_thread() = 0;

 protected:
  ~ThreadResources() = default;
};

// Null pointers: it does not have that one. The interfaces are owned by the transport.
struct TransportCapabilities {
  RemoteMemory* remote_memory = nullptr;
  DirectMemory* direct_memory = nullptr;
  BulkMemory* bulk_memory = nullptr;
  OneSidedMemory* one_sided_memory = nullptr;  // only beside bulk_memory
  WakeSource* wake_source = nullptr;
  ArrivalWatch* arrival_watch = nullptr;
  PeerLimits* peer_limits = nullptr;
  PeerSearch* peer_search = nullptr;
  PacketOrigins* packet_origins = nullptr;
  PackedDatagrams* packed_datagrams = nullptr;
  PeerLiveness* peer_liveness = nullptr;
  ReliableDelivery* reliable_delivery = nullptr;
  PeerEras* peer_eras = nullptr;
  ThreadResources* thread_resources = nullptr;
  LinkStatus* link_status = nullptr;
};

}  // namespace openlapi
