// Packets through reliable connections (RC), for peers that are sent much; all others get datagrams.
//
// A connection carries packets one way: who sends asks for it with a datagram, and the other end, which takes the
// packets of all connections from one shared receive queue, only has to be there. So two tasks that begin to talk at
// the same time have nothing to agree upon. The adapter repeats what the network loses, and makes the sender wait for a
// receiver that has no room.
// What travels is the same as in datagrams and stays under the engine's acknowledgements (reliability/): a connection
// that breaks takes nothing with it but packets that the engine sends again, and until there is another one they go as
// datagrams. That is why nothing here waits, keeps time or tells anybody of an error: asking again, and the rest that
// a peer gets after a failure, are counted in packets.
//
// Which of the two is better is a matter of the adapter. On soft-RoCE ib_send_lat of 8 bytes takes 41 us as datagrams
// and 29 us through a connection, 35 us with a shared receive queue. A connection also spares the engine's time-outs
// where the network loses packets. But it costs a queue pair at either end and 256 KiB of locked memory: so the first
// kPacketsBeforeAsking packets to a peer go as datagrams, a connection's price spread over many more, and connections
// are bounded: for a new one the one that was not used for longest is closed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "nic/verbs/receive_ring.h"
#include "nic/verbs/reliable_queue_pair.h"
#include "nic/verbs/send_ring.h"
#include "nic/verbs/served_connections.h"

namespace openlapi::verbs {

struct PacketConnectionLimits {
  static constexpr std::uint32_t kPacketsBeforeAsking = 1024;
  std::uint32_t connections = 64;  // to send through; twice as many to receive through
  std::uint32_t packets_before_asking = kPacketsBeforeAsking;
  std::uint64_t first_count = 0;  // of a connection's packets; near its end in tests
};

struct PacketConnectionCounters {
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_received = 0;
  std::uint64_t connections_made = 0;
  std::uint64_t connections_broken = 0;
  std::uint64_t connections_closed = 0;  // for others, or by the other end
  std::uint64_t connections_refused = 0;
};

// What the queue pairs of a transport have in common.
struct PacketConnectionSetting {
  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  ibv_cq* arrivals = nullptr;  // the transport's, of datagrams as well
  std::uint32_t port = 1;
  std::uint32_t max_packet = 0;     // bytes
  std::uint32_t receive_slots = 0;  // of the shared receive queue
  std::uint32_t pieces = 1;         // of a send request
  std::uint32_t inline_bytes = 0;   // wanted
};

class PacketConnections {
 public:
  // Arrivals with this bit in their number are of the shared receive queue.
  static constexpr std::uint64_t kArrivalBit = std::uint64_t{1} << 32;

  // Null: the adapter cannot.
  static std::unique_ptr<PacketConnections> make(const PacketConnectionSetting& setting, ConnectionPath& path,
                                                 const PacketConnectionLimits& limits);
  ~PacketConnections();

  struct Connection {
    PeerIndex peer = kUnknownPeer;
    std::uint16_t name = 0;    // the upper bits of its requests' numbers; used again when it is gone
    std::uint64_t number = 0;  // by which both ends know it; random
    bool ready = false;
    SendRing ring;
    std::unique_ptr<ReliableQueuePair> queue_pair;  // goes before the memory of the ring
    std::uint64_t last_use = 0;                     // counts bursts of all connections
    std::uint32_t asked = 0;                        // times
  };

  // The connection for so many packets that are about to be sent; null: datagrams. Asks for a connection when it is
  // time.
  Connection* connection_to(PeerIndex peer, std::size_t packets) {
    if (peer >= peers_.size()) [[unlikely]]
      add(peer);
    Peer& state = peers_[peer];
    if (state.connection != nullptr && state.connection->ready) [[likely]]
      return usable(state);
    if (state.until_asking > packets) {
      state.until_asking -= static_cast<std::uint32_t>(packets);
    } else {
      ask(peer);
    }
    return nullptr;
  }

  // After packets were appended to its ring: posts them. Returns how many are lost.
  std::uint32_t post(Connection& connection);
  // One packet that its ring lets go alone. False: it is lost.
  bool post_alone(Connection& connection, const OutgoingPacket& packet, const Destination& destination);

  // Takes what has become of packets that were sent. Returns how many were lost.
  std::uint64_t reap();

  void message_arrived(PeerIndex peer, const ConnectionMessage& message);
  void peer_changed(PeerIndex peer);

  // The shared receive queue.
  ReceiveRing& receives() { return receives_; }
  const ReceiveRing& receives() const { return receives_; }
  void post_receives() {
    if (shared_) receives_.post();
  }
  void count_received(std::uint32_t queue_pair) {
    ++counters_.packets_received;
    served_.used(queue_pair);
  }
  void retire(bool emptied) { served_.retire(emptied); }  // served_connections.h
  const ServedConnections& served() const { return served_; }

  const PacketConnectionCounters& counters() const { return counters_; }
  ibv_qp* queue_pair_to(PeerIndex peer) const;  // to look at, or to break in a test; null: not connected

 private:
  static constexpr std::uint32_t kSlots = SendRing::kFewestSlots;  // packets under way
  static constexpr std::uint32_t kAskAgain = 32;                   // packets
  static constexpr std::uint32_t kAskAtMost = 16;                  // times
  static constexpr std::uint32_t kMostDoublings = 10;              // of the packets before a peer is asked again
  static constexpr std::uint64_t kIdleUses = 256;                  // of others, before a connection may be closed
  static constexpr int kPollBatch = 16;
  static constexpr unsigned kCountBits = 48;  // of a request's number: two years of 4 million packets a second

  struct Peer {
    Connection* connection = nullptr;  // asked for, or ready
    std::uint32_t until_asking = 0;    // packets
    std::uint32_t failures = 0;        // in a row
  };

  PacketConnections(const PacketConnectionSetting& setting, ConnectionPath& path, const PacketConnectionLimits& limits);
  bool open();
  bool open_receives();
  void add(PeerIndex peer);
  Connection* usable(Peer& state);
  void ask(PeerIndex peer);
  Connection* make_connection(PeerIndex peer);
  bool close_idle_one();
  void say(const Connection& connection, ConnectionMessage::Kind kind);
  void accepted(Connection& connection, const ConnectionMessage& message);
  void failed(Connection& connection);
  void broken(Connection& connection);
  void remove(Connection& connection);
  std::uint16_t unused_name();
  Connection* named(std::uint16_t name) const;

  PacketConnectionSetting setting_;
  ConnectionPath& path_;
  PacketConnectionLimits limits_;
  CompletionQueue completions_;  // of sends
  ReceiveRing receives_;
  SharedReceiveQueue shared_;  // null: nobody has asked yet
  ReliableSetting sending_, receiving_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Peer> peers_;
  std::uint16_t next_name_ = 1;  // the latest ones are passed by: an adapter may still tell of what they have sent
  std::uint64_t uses_ = 0;
  std::uint64_t lost_ = 0;  // not told by reap() yet
  ServedConnections served_;
  PacketConnectionCounters counters_;
};

}  // namespace openlapi::verbs
