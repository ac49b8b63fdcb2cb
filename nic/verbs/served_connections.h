// The ends of connections through which peers read this task's memory or send it packets. They are made when a peer
// asks, and bounded in number. When there are too many, the least recently used one is closed and its peer told; a peer
// that still needs it asks again. Packets show when a connection is used. Reads are served by the adapter alone, so of
// those connections the oldest is closed.
// A connection that packets arrive through is not destroyed before its last packet is taken (retiring_queue_pairs.h).
// A connection that fails needs no attention: the peer's requests fail, it asks again, and the new end replaces the old
// one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/transport/packet.h"
#include "nic/verbs/arrival_rings.h"
#include "nic/verbs/connection_message.h"
#include "nic/verbs/last_uses.h"
#include "nic/verbs/reliable_queue_pair.h"
#include "nic/verbs/retiring_queue_pairs.h"

namespace openlapi::verbs {

// What carries connection messages: the transport's datagrams.
class ConnectionPath {
 public:
  virtual ~ConnectionPath() = default;
  virtual const Address& own_address() const = 0;
  virtual const Address* address_of(PeerIndex peer) const = 0;  // null: not added
  virtual ibv_ah_attr route_to_address(const Address& address) const = 0;
  // The message may be lost, like every datagram.
  virtual void send_message(PeerIndex peer, const ConnectionMessage& message) = 0;
};

class ServedConnections {
 public:
  ServedConnections(ReliableSetting& setting, ConnectionPath& path, std::uint32_t most)
      : setting_(setting), path_(path), most_(most) {}

  void requested(PeerIndex peer, const ConnectionMessage& request);
  void decline(PeerIndex peer, const ConnectionMessage& request);  // there is nothing to receive its packets with
  void closed(PeerIndex peer, std::uint64_t connection);
  void forget(PeerIndex peer);

  // From now on peers may have rings behind their connections.
  void serve_rings(std::unique_ptr<ArrivalRings> rings) { rings_ = std::move(rings); }
  void ring_requested(PeerIndex peer, const ConnectionMessage& request);
  std::size_t take_written(std::span<IncomingPacket> packets) { return rings_ ? rings_->take(packets, last_uses_) : 0; }
  void keep_up_rings();                                 // closes connections whose rings wait for nothing
  ArrivalRings* rings() const { return rings_.get(); }  // null: there are none

  // A packet has arrived through this queue pair.
  void used(std::uint32_t queue_pair) {
    last_uses_.note(queue_pair);
    if (rings_) rings_->sent_through(queue_pair);
  }
  // To be called now and then, both by a busy thread and before sleeping. `emptied`: the arrivals' completion queue was
  // found empty since the last call.
  void retire(bool emptied);

  std::size_t count() const { return served_.size(); }
  std::size_t retiring() const { return retiring_.count(); }
  // Nobody should sleep now: something is destroyed if retire() is called for some time.
  bool want_looks() const { return retiring_.want_looks(); }

 private:
  struct Served {
    PeerIndex peer;
    std::uint64_t connection;
    std::uint8_t reads;
    std::unique_ptr<ReliableQueuePair> queue_pair;
    bool done = false;   // it has failed, and is done with the last slot of the shared receive queue
    unsigned rings = 0;  // granted so far; the sender numbers them
  };

  void answer(const Served& served);
  RingPlace ring_for(Served& served, const ConnectionMessage& request);
  void refuse(PeerIndex peer, std::uint64_t connection, ConnectionMessage::Kind kind);
  void close_least_used();
  void close(std::size_t which);  // and tell the peer
  void leave(std::size_t which);
  std::size_t leaving() const;
  void read_events();
  void last_request_done(const ibv_qp& queue_pair);

  ReliableSetting& setting_;
  ConnectionPath& path_;
  std::size_t most_;
  std::unique_ptr<ArrivalRings> rings_;  // outlives the queue pairs
  std::vector<Served> served_;           // at most one per peer
  LastUses last_uses_;
  RetiringQueuePairs retiring_;
};

}  // namespace openlapi::verbs
