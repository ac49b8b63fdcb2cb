// Packets as unreliable datagrams of RDMA adapters: one queue pair for all peers, over InfiniBand or RoCE.
//
// A packet is one datagram of at most the MTU (the route header does not count towards it). The adapter drops damaged
// ones (ICRC) and those without this transport's Q_Key, a random number that only the address tells. Packets may be
// lost, and order is not promised.
// A queue pair in the error state is reset and reused under the same number, so peers notice nothing but the lost
// packets. While the port is down packets count as sent and are lost.
// Peers that are sent much get their packets through reliable connections (packet_connections.h). These may be lost
// too: with the connection. Bulk goes by RDMA READ through other connections (bulk_reads.h), and so may gets of a few
// bytes (short_reads.h). Connections are negotiated with datagrams of a kind of their own. To and from other ends of
// the tasks there are datagrams alone. Reading order: verbs_datapath.cc, send_ring.h, receive_ring.h,
// verbs_recovery.cc, verbs_setup.cc, port_choice.h, packet_connections.h, bulk_reads.h, short_reads.h.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/transport/remote_table.h"
#include "dataplane/transport/transport.h"
#include "nic/verbs/address_handles.h"
#include "nic/verbs/bulk_reads.h"
#include "nic/verbs/datagram_origins.h"
#include "nic/verbs/domains.h"
#include "nic/verbs/job_size.h"
#include "nic/verbs/packet_connections.h"
#include "nic/verbs/port_choice.h"
#include "nic/verbs/port_status.h"
#include "nic/verbs/receive_ring.h"
#include "nic/verbs/send_ring.h"
#include "nic/verbs/short_reads.h"
#include "nic/verbs/verbs_address.h"
#include "nic/verbs/verbs_objects.h"

namespace openlapi {

struct VerbsConfig {
  verbs::PortPreference port;  // port_choice.h has the rule for what it leaves open
  std::uint32_t mtu = 0;       // bytes, if smaller than the port's; 0: the port's
  // Packets that can wait; each takes one MTU of locked memory. Fewer where that is refused (kFewestReceiveSlots).
  std::uint32_t receive_slots = verbs::kFewestReceiveSlots;
  std::uint32_t senders = 1;                       // tasks that may send at the same time, and share these
  std::uint32_t send_slots = 256;                  // packets that can be on their way out
  std::uint8_t service_level = 0;                  // of InfiniBand; of RoCE the priority of frames with a VLAN tag
  std::optional<std::uint8_t> traffic_class = {};  // of the route header; none: traffic_class.h
  bool bulk = false;                               // use RDMA READ where the adapter can
  verbs::BulkLimits bulk_limits;
  bool one_sided = false;  // serve gets of a few bytes without messages, beside bulk, where the adapters can
  verbs::ShortReadLimits short_read_limits;
  bool connections = false;  // send packets through connections, too, where the adapter can
  verbs::PacketConnectionLimits connection_limits;
  bool link_status = false;          // tell when the port goes down or comes up, and follow its address
  bool tell = false;                 // on standard error, of an adapter that fails
  std::uint32_t local_tasks = 1;     // of the node, which share the adapter
  std::uint32_t tasks = UINT32_MAX;  // of the job; peers with larger numbers are other ends of tasks (OtherEnd)
};

struct VerbsSetupError {
  enum class Kind : std::uint8_t { none, no_device, no_permission, unusable_port, locked_memory, bad_size, system };
  Kind kind = Kind::none;
  int system_error = 0;  // errno; 0: none
  std::string text;      // for the user: what was asked for, what went wrong, what to do
};

struct VerbsCounters {
  std::uint64_t inline_sends = 0;
  std::uint64_t lost_packets = 0;       // taken, not sent: port down, queue pair broken, longer than the peer accepts
  std::uint64_t error_completions = 0;  // including those that only tell of a broken queue pair (flushed)
  std::uint64_t recoveries = 0;         // the queue pair was reset and is in use again
  std::uint64_t failed_recoveries = 0;  // attempts that failed; they are repeated
};

class VerbsTransport final : public Transport,
                             public PeerLimits,
                             public PeerSearch,
                             public PacketOrigins,
                             private WakeSource,
                             private verbs::ConnectionPath {
 public:
  ~VerbsTransport() override;

  std::string_view name() const override { return "verbs"; }
  const TransportLimits& limits() const override { return limits_; }
  PeerAddress local_address() const override { return verbs::encode(local_); }
  bool add_peer(PeerIndex peer, const PeerAddress& address, std::string& error) override;
  std::uint32_t max_packet_to(PeerIndex peer) const override;
  std::uint32_t max_packets_to(PeerIndex peer) const override {
    const verbs::Address* const address = address_of(peer);
    return address != nullptr ? address->packets_of_sender : UINT32_MAX;
  }
  bool is_undecided() const override { return undecided_; }
  std::uint64_t origin_of(PeerIndex peer) const override;  // of other ends alone: what is not theirs is the tasks'
  // Packets that are longer than max_packet_to(peer) are lost.
  std::size_t send_burst(PeerIndex peer, std::span<const OutgoingPacket> packets) override;
  std::size_t receive_burst(std::span<IncomingPacket> packets) override;
  void release(std::size_t count) override;
  TransportCapabilities capabilities() override {
    return {.bulk_memory = bulk_.get(),
            .one_sided_memory = short_reads_.get(),
            .wake_source = this,
            .peer_limits = this,
            .peer_search = this,
            .packet_origins = this,
            .link_status = port_status_.get()};
  }
  TransportCounters counters() const override { return counters_; }

  VerbsCounters verbs_counters() const {
    VerbsCounters counters = verbs_counters_;
    counters.inline_sends = sends_.inline_sends();
    return counters;
  }
  const std::string& device() const { return device_; }
  std::uint32_t port() const { return port_; }
  std::uint32_t gid_index() const { return gid_index_; }
  std::uint16_t partition() const { return verbs::partition_of(local_.partition_key); }
  const verbs::Address& address() const { return local_; }
  // Of memory, for a peer that has been added and has no connection.
  static constexpr std::size_t bytes_of_peer() { return sizeof(Remote) + verbs::PacketConnections::bytes_of_peer(); }
  bool has_link() const;  // asks the driver
  std::uint32_t receive_slots() const { return receives_.slots(); }
  const verbs::BulkReads* bulk() const { return bulk_.get(); }
  const verbs::ShortReads* short_reads() const { return short_reads_.get(); }
  const verbs::PacketConnections* connections() const { return connections_.get(); }  // null: there are none
  ibv_qp* queue_pair() const { return queue_pair_.get(); }  // for tests to look at, or to break

 private:
  friend std::unique_ptr<VerbsTransport> open_verbs_transport(const VerbsConfig&, VerbsSetupError&);
  static constexpr int kPollBatch = 32;                  // completions of one look
  static constexpr std::size_t kMostReleased = 8;        // slots that may wait before they are posted again
  static constexpr std::uint32_t kQuietChecks = 64;      // looks without a packet between polls of the send completions
  static constexpr std::uint32_t kBusyChecks = 64;       // bursts between two looks at what retires
  static constexpr std::uint32_t kRetryRecovery = 1024;  // calls between two attempts after one that failed

  struct Remote {
    std::shared_ptr<ibv_ah> handle;
    verbs::Destination destination;
    verbs::Address address;
    std::uint32_t moves = 0;         // of ours that the handle knows; kOtherPlace: it leads to where the peer was
    std::uint64_t next_renewal = 0;  // not before, ms

    // Returns the handle before.
    std::shared_ptr<ibv_ah> use(std::shared_ptr<ibv_ah> other, std::uint32_t own_moves) {
      destination.handle = other.get();
      moves = own_moves;
      return std::exchange(handle, std::move(other));
    }
  };
  static constexpr std::uint32_t kOtherPlace = UINT32_MAX;
  // Its handle names an address that the port may not have any more: what is sent so may break the queue pair.
  bool is_stale(const Remote& remote) const { return remote.moves != moves_ && remote.moves != kOtherPlace; }

  explicit VerbsTransport(const VerbsConfig& config) : config_(config), remotes_(config.tasks) {}

  // verbs_setup.cc
  bool open(VerbsSetupError& error);
  bool choose(VerbsSetupError& error);
  bool open_queues(VerbsSetupError& error);
  bool create_queue_pair(const ibv_device_attr& device);
  bool open_rings(VerbsSetupError& error);
  void open_powers();
  void watch_port();
  ibv_ah_attr route_to_address(const verbs::Address& peer) const override;
  void forget_connections(PeerIndex peer) {
    if (!remotes_.is_task(peer)) return;
    if (bulk_) bulk_->peer_changed(peer);
    if (short_reads_) short_reads_->peer_changed(peer);
    if (connections_) connections_->peer_changed(peer);
  }

  // verbs_datapath.cc
  const verbs::Address& own_address() const override { return local_; }
  const verbs::Address* address_of(PeerIndex peer) const override;
  PeerIndex find_peer(const verbs::Address& address) const;  // kUnknownPeer: no added peer has this address
  void send_message(PeerIndex peer, const verbs::ConnectionMessage& message) override;
  [[gnu::noinline]] void take_message(const ibv_wc& arrival, std::uint32_t slot);
  void reap_sends();
  [[gnu::noinline]] std::size_t append(verbs::SendRing& ring, const verbs::Destination& destination,
                                       std::span<const OutgoingPacket> packets);
  std::size_t send_connected(verbs::PacketConnections::Connection& connection, const verbs::Destination& destination,
                             std::span<const OutgoingPacket> packets);
  bool look();
  std::size_t hand_out(std::span<IncomingPacket> packets);
  bool take_datagram(const ibv_wc& arrival, IncomingPacket& packet);
  bool take_connected(const ibv_wc& arrival, IncomingPacket& packet);
  [[gnu::noinline]] void give_back();
  void retire();

  // verbs_recovery.cc
  bool follow_port(verbs::PortStatus::Place& place);
  void use_partition(const verbs::PartitionFacts& partition);
  void give_up();
  [[gnu::noinline, gnu::cold]] void renew(PeerIndex peer);
  int make_ready();
  void recover();
  bool reset_queues();
  void drop(const ibv_wc& arrival);
  bool can_send();
  void lose(std::uint64_t packets) { verbs_counters_.lost_packets += packets; }
  std::size_t lose_all(std::span<const OutgoingPacket> packets) {
    lose(packets.size());
    counters_.packets_sent += packets.size();
    return packets.size();
  }

  int descriptor() const override { return port_status_ ? port_status_->descriptor() : channel_->fd; }
  bool immediate() const override { return true; }
  bool arm() override;
  void disarm() override {}  // a notification request cannot be withdrawn
  void forget_events();

  VerbsConfig config_;
  TransportLimits limits_{};
  std::string device_;
  std::uint32_t port_ = 0;
  std::uint32_t gid_index_ = 0;
  std::uint16_t gid_vlan_ = 0;  // 0: none
  std::uint16_t partition_index_ = 0;
  std::uint32_t send_pieces_ = 1;  // of a request
  verbs::Address local_;

  verbs::DeviceContext context_;
  verbs::Domains domains_;
  verbs::CompletionChannel channel_;
  verbs::CompletionQueue send_completions_;
  verbs::CompletionQueue receive_completions_;
  verbs::ReceiveRing receives_;
  verbs::HeldSlots held_;
  std::size_t released_ = 0;  // of the held packets: the first so many are no longer held by the engine
  verbs::SendRing sends_;
  RemoteTable<Remote> remotes_;  // by peer; no handle: not added
  verbs::AddressHandles handles_;
  verbs::DatagramOrigins origins_;
  verbs::RetiredHandles retired_;
  verbs::QueuePair queue_pair_;
  std::unique_ptr<verbs::BulkReads> bulk_;                 // null: there is none
  std::unique_ptr<verbs::ShortReads> short_reads_;         // the same
  std::unique_ptr<verbs::PacketConnections> connections_;  // the same
  std::unique_ptr<verbs::PortStatus> port_status_;         // the same

  std::array<ibv_wc, kPollBatch> arrivals_;  // completions of the last poll that were not handed out yet
  int first_arrival_ = 0;
  int arrivals_end_ = 0;
  std::uint32_t moves_ = 0;  // how often the port has got another address
  bool undecided_ = false;   // the latest add_peer() looks for the peer
  bool broken_ = false;      // the queue pair is in the error state, or may be
  bool given_up_ = false;    // the adapter has failed for good
  bool port_down_ = false;   // when last asked
  bool emptied_ = false;     // the arrivals' queue was empty since the last retire()
  std::uint32_t quiet_ = 0;
  bool rings_last_ = false;  // in the next burst: they have filled one
  std::uint32_t busy_ = 0;
  std::uint32_t until_retry_ = 0;
  TransportCounters counters_;
  VerbsCounters verbs_counters_;  // without inline sends
};

// Null: `error` says why. Takes milliseconds.
std::unique_ptr<VerbsTransport> open_verbs_transport(const VerbsConfig& config, VerbsSetupError& error);

}  // namespace openlapi
