// Packets through reliable connections (RC) to peers that are sent much; all others get datagrams.
//
// A connection carries packets in one direction. The sender asks for it with a datagram. The other end takes the
// packets of all connections from one shared receive queue and only has to exist, so two tasks that start talking at
// the same time have nothing to negotiate. The adapter repeats what the network loses, and makes the sender wait while
// the receiver has no room.
// The packets are the same as in datagrams and stay under the engine's acknowledgements (reliability/). A connection
// that breaks loses only packets that the engine sends again; until there is a new one they go as datagrams. That is
// why nothing here waits, reads a clock or reports an error: when to ask again, and how long to leave a peer alone
// after a failure, are counted in packets.
//
// Short packets of peers that are busier still are written into rings in the receiver's memory, through the same
// connections (arrival_rings.h, ring_to_peer.h).
//
// Which of the two is faster depends on the adapter. On soft-RoCE ib_send_lat of 8 bytes takes 41 us with datagrams, 29
// us through a connection, 35 us with a shared receive queue. A connection also avoids the engine's time-outs when the
// network loses packets. But it costs a queue pair at each end and 256 KiB of locked memory. So the first packets to a
// peer go as datagrams (asking.h), and the number of connections is bounded: a new one replaces the one that has been
// unused for longest.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "nic/verbs/asking.h"
#include "nic/verbs/domains.h"
#include "nic/verbs/job_size.h"
#include "nic/verbs/receive_ring.h"
#include "nic/verbs/reliable_queue_pair.h"
#include "nic/verbs/ring_to_peer.h"
#include "nic/verbs/send_ring.h"
#include "nic/verbs/served_connections.h"

namespace openlapi::verbs {

// Whether busy peers may write short packets into this task's memory (arrival_rings.h), and it into theirs.
enum class Rings : std::uint8_t { never, where_in_order, always };

struct PacketConnectionLimits {
  std::uint32_t connections = kPacketConnections;  // to send through; twice as many to receive through
  std::uint32_t packets_before_asking = 0;         // 0: as asking.h says
  Rings rings = Rings::never;
  std::uint32_t most_rings = kPacketRings;  // in this task's memory
  std::uint64_t first_count = 0;  // number of a connection's first packet; in tests near the end of the range
};

struct PacketConnectionCounters {
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_written = 0;   // of those sent, into rings
  std::uint64_t packets_received = 0;  // as sends
  std::uint64_t connections_made = 0;
  std::uint64_t connections_broken = 0;
  std::uint64_t connections_closed = 0;  // to make room, or by the other end
};

// What all queue pairs of a transport share.
struct PacketConnectionSetting {
  ibv_context* context = nullptr;
  const Domains* domains = nullptr;
  ibv_cq* arrivals = nullptr;  // the transport's, of datagrams as well
  PortPlace place{};
  std::uint32_t max_packet = 0;     // bytes
  std::uint32_t receive_slots = 0;  // of the shared receive queue
  std::uint32_t pieces = 1;         // of a send request
  std::uint32_t inline_bytes = 0;   // wanted
};

class PacketConnections {
 public:
  static constexpr std::uint32_t kSlots = SendRing::kFewestSlots;  // packets under way on a connection
  // Work requests of the shared receive queue have this bit in their numbers.
  static constexpr std::uint64_t kArrivalBit = std::uint64_t{1} << 32;
  // The number of held packets that have come through rings.
  static constexpr std::uint64_t kWritten = std::uint64_t{1} << 33;

  static constexpr std::size_t bytes_of_peer() { return sizeof(Peer); }

  // Null: the adapter cannot do it.
  static std::unique_ptr<PacketConnections> make(const PacketConnectionSetting& setting, ConnectionPath& path,
                                                 const PacketConnectionLimits& limits);
  ~PacketConnections();

  struct Connection {
    PeerIndex peer = kUnknownPeer;
    std::uint16_t name = 0;    // the upper bits of its requests' numbers; reused when it is gone
    std::uint64_t number = 0;  // by which both ends know it; random
    bool ready = false;
    SendRing ring;
    RingToPeer to_peer;                             // only with `ready`
    std::unique_ptr<ReliableQueuePair> queue_pair;  // stopped or destroyed before the memory above
    std::uint64_t last_use = 0;                     // counts bursts of all connections
    std::uint32_t asked = 0;                        // times
  };

  // The connection for `packets` packets that are about to be sent; null: send them as datagrams. Asks for a connection
  // when it is time.
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

  // Posts what was appended to the connection's ring. Returns how many packets are lost.
  std::uint32_t post(Connection& connection);
  // Posts a single packet for which SendRing::may_go_alone() holds. False: it is lost.
  bool post_alone(Connection& connection, const OutgoingPacket& packet, const Destination& destination);

  // Writes a single packet into the peer's ring, if it fits, and there is one that may be written now. True: it is
  // taken, and if it is lost, reap() says so.
  bool write(Connection& connection, const OutgoingPacket& packet) {
    return rings_wanted_ && packet.length <= kLongestInRing && write_slot(connection, packet);
  }

  // Takes the completions of sent packets. Returns how many were lost.
  std::uint64_t reap();

  void message_arrived(PeerIndex peer, const ConnectionMessage& message);
  void peer_changed(PeerIndex peer);
  // The port's table has the partition at another place: connections from now on are made for it.
  void use_partition(std::uint16_t index);
  // The adapter has failed: there will be no connection.
  void give_up();

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
  // Packets out of the rings; release_written() for each.
  std::size_t take_written(std::span<IncomingPacket> packets) { return served_.take_written(packets); }
  void release_written() { served_.rings()->release(); }
  // To be called before sleeping: see ArrivalRings::close().
  bool close_rings() { return served_.rings() == nullptr || served_.rings()->close(); }

  // See served_connections.h.
  void retire(bool emptied) {
    served_.retire(emptied);
    served_.keep_up_rings();
    destruction_.go_on();
  }
  const ServedConnections& served() const { return served_; }

  std::uint32_t most_connections() const { return limits_.connections; }  // to send through
  const PacketConnectionCounters& counters() const { return counters_; }
  ibv_qp* queue_pair_to(PeerIndex peer) const;  // for tests to look at, or to break; null: not connected

 private:
  static constexpr std::uint64_t kIdleUses = 256;                  // uses of others before an idle one may be closed
  static constexpr int kPollBatch = 16;
  static constexpr unsigned kCountBits = 48;  // of a request's number: two years at 4 million packets a second

  struct Peer : AskingState {
    Connection* connection = nullptr;  // asked for, or ready
  };

  PacketConnections(const PacketConnectionSetting& setting, ConnectionPath& path, const PacketConnectionLimits& limits);
  bool open();
  void open_rings(const ibv_device_attr& device);
  bool open_receives();
  Peer stranger() const { return {AskingState::of_stranger(asking_)}; }
  void add(PeerIndex peer);
  Connection* usable(Peer& state);
  void ask(PeerIndex peer);
  Connection* make_connection(PeerIndex peer);
  bool close_idle_one();
  void say(const Connection& connection, ConnectionMessage::Kind kind);
  bool write_slot(Connection& connection, const OutgoingPacket& packet);
  void ask_for_ring(Connection& connection);
  void ring_answered(Connection& connection, const ConnectionMessage& message);
  void accepted(Connection& connection, const ConnectionMessage& message);
  void failed(Connection& connection);
  void broken(Connection& connection);
  void remove(Connection& connection);
  std::uint16_t unused_name();
  Connection* named(std::uint16_t name) const;

  PacketConnectionSetting setting_;
  ConnectionPath& path_;
  PacketConnectionLimits limits_;
  Asking asking_;
  CompletionQueue completions_;       // of sends
  CompletionQueue ring_completions_;  // of what is told about rings; null: there are none
  ReceiveRing receives_;
  SharedReceiveQueue shared_;  // null: nobody has asked yet
  ReliableSetting sending_, receiving_;
  SlowDestruction destruction_;  // of all queue pairs, before the queues above
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Peer> peers_;
  std::uint16_t next_name_ = 1;  // names are reused late: the adapter may still report packets of earlier ones
  std::uint64_t uses_ = 0;
  std::uint64_t lost_ = 0;  // not reported by reap() yet
  bool given_up_ = false;
  bool rings_wanted_ = false;
  ServedConnections served_;
  PacketConnectionCounters counters_;
};

}  // namespace openlapi::verbs
