// The ends of connections through which peers read this task's memory, or send it packets: made when a peer asks,
// bounded in number. The adapter serves them without telling anybody, so which one is idle is not known here: the one
// that was asked for first leaves when there are too many, and its peer is told; a peer that still needs it asks again.
// An end that fails needs no care: what the peer posts fails, it asks anew, and the new end replaces the old one.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "dataplane/transport/packet.h"
#include "nic/verbs/connection_message.h"
#include "nic/verbs/reliable_queue_pair.h"

namespace openlapi::verbs {

// The way for connection messages; the transport's datagrams.
class ConnectionPath {
 public:
  virtual ~ConnectionPath() = default;
  virtual const Address& own_address() const = 0;
  virtual const Address* address_of(PeerIndex peer) const = 0;  // null: not added
  virtual ibv_ah_attr route_to_address(const Address& address) const = 0;
  // May be lost, like every datagram.
  virtual void send_message(PeerIndex peer, const ConnectionMessage& message) = 0;
};

class ServedConnections {
 public:
  ServedConnections(const ReliableSetting& setting, ConnectionPath& path, std::uint32_t most)
      : setting_(setting), path_(path), most_(most) {}

  void requested(PeerIndex peer, const ConnectionMessage& request);
  void closed(PeerIndex peer, std::uint64_t connection);
  void forget(PeerIndex peer);
  std::size_t count() const { return served_.size(); }

 private:
  struct Served {
    PeerIndex peer;
    std::uint64_t connection;
    std::uint8_t reads;
    std::unique_ptr<ReliableQueuePair> queue_pair;
  };

  void answer(const Served& served);
  void refuse(PeerIndex peer, std::uint64_t connection, ConnectionMessage::Kind kind);

  const ReliableSetting& setting_;
  ConnectionPath& path_;
  std::size_t most_;
  std::deque<Served> served_;  // oldest first
};

}  // namespace openlapi::verbs
