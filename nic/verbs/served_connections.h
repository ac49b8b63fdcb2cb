// The ends of connections through which peers read this task's memory, or send it packets: made when a peer asks,
// bounded in number. When there are too many, the one that was used least lately leaves, and its peer is told; a peer
// that still needs it asks again. Packets tell of their use; reads are served by the adapter alone, so of those the one
// that was asked for first leaves.
// One that packets arrive through is not destroyed before its last one is taken (retiring_queue_pairs.h).
// An end that fails needs no care: what the peer posts fails, it asks anew, and the new end replaces the old one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/transport/packet.h"
#include "nic/verbs/connection_message.h"
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
  // May be lost, like every datagram.
  virtual void send_message(PeerIndex peer, const ConnectionMessage& message) = 0;
};

// When queue pairs were last used, in uses of all of them. Those whose numbers meet in one place of the table count as
// used together.
class LastUses {
 public:
  void note(std::uint32_t queue_pair) { times_[queue_pair % kPlaces] = ++uses_; }
  std::uint64_t of(std::uint32_t queue_pair) const { return times_[queue_pair % kPlaces]; }

 private:
  static constexpr std::uint32_t kPlaces = 1024;  // adapters count their queue pairs up
  std::uint64_t uses_ = 0;
  std::array<std::uint64_t, kPlaces> times_{};
};

class ServedConnections {
 public:
  ServedConnections(const ReliableSetting& setting, ConnectionPath& path, std::uint32_t most)
      : setting_(setting), path_(path), most_(most) {}

  void requested(PeerIndex peer, const ConnectionMessage& request);
  void closed(PeerIndex peer, std::uint64_t connection);
  void forget(PeerIndex peer);

  // A packet has arrived through this queue pair.
  void used(std::uint32_t queue_pair) { last_uses_.note(queue_pair); }
  // To be called now and then, by who sleeps and by who is busy, too. `emptied`: since the call before, the queue of
  // arrivals has been found empty.
  void retire(bool emptied);

  std::size_t count() const { return served_.size(); }
  std::size_t retiring() const { return retiring_.count(); }
  // Nobody should sleep: something goes when retire() is called for some time.
  bool want_looks() const { return retiring_.want_looks(); }

 private:
  struct Served {
    PeerIndex peer;
    std::uint64_t connection;
    std::uint8_t reads;
    std::unique_ptr<ReliableQueuePair> queue_pair;
    bool done = false;  // with the last slot of the shared receive queue: it has failed
  };

  void answer(const Served& served);
  void refuse(PeerIndex peer, std::uint64_t connection, ConnectionMessage::Kind kind);
  void close_least_used();
  void leave(std::size_t which);
  void read_events();
  void last_request_done(const ibv_qp& queue_pair);

  const ReliableSetting& setting_;
  ConnectionPath& path_;
  std::size_t most_;
  std::vector<Served> served_;  // one of a peer at most
  LastUses last_uses_;
  RetiringQueuePairs retiring_;
};

}  // namespace openlapi::verbs
