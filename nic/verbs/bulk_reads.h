// RDMA READ from peers' memory through reliable connections, made on demand.
//
// Each end has one queue pair for reading from a peer and one for being read by it. A connection is asked for with the
// first read and takes one exchange of datagrams; reads wait for it. Connections are bounded in number, and the least
// recently used idle one is closed for a new one.
// An error of any kind breaks the connection: the queue pair is stopped, what was posted completes with errors, and the
// next read asks for a new connection. After several connections without one successful read the peer counts as
// unreachable, for a time that doubles from one second to a minute.
// A read of the engine (up to 32 MiB) goes to the adapter in pieces. Real adapters are given all of them at once, so
// that the transfer goes on while the task computes; they have as many under way as both ends can. Soft-RoCE is given
// two at a time, of some hundred packets: it answers a READ without pausing, and all pieces of a connection have to fit
// into the 1000 packets that Linux queues for a busy processor. With 1024 some were lost, and a loss is repaired only
// after a time-out or not at all: transfers of 4 MiB took twice as long, or fell back to packets. Now a loss costs one
// piece at most. A connection also counts as broken if its adapter returns nothing for half a minute, far beyond the
// adapter's own time-outs. Asynchronous events are ignored here: whatever they report about a queue pair shows in its
// completions or in that time-out as well. When a queue pair is destroyed the provider may discard its completions;
// those reads then end as failed. Reading order: bulk_reads.cc, bulk_read_connections.cc, served_connections.h,
// registration_cache.h.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/transport/bulk_memory.h"
#include "nic/verbs/domains.h"
#include "nic/verbs/job_size.h"
#include "nic/verbs/on_demand_paging.h"
#include "nic/verbs/registration_cache.h"
#include "nic/verbs/served_connections.h"

namespace openlapi::verbs {

struct BulkLimits {
  std::uint32_t connections = kBulkConnections;  // of each kind (reading, being read)
  RegistrationCache::Limits registrations;
  OnDemandPaging on_demand_paging = OnDemandPaging::beside_cache;
};

struct BulkCounters {
  std::uint64_t reads_done = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t reads_failed = 0;
  std::uint64_t connections_made = 0;
  std::uint64_t connections_broken = 0;
  std::uint64_t connections_closed = 0;  // idle ones, to make room for others
};

class BulkReads final : public BulkMemory {
 public:
  // Null: the adapter cannot do it (no RDMA READ, or no room for its queues).
  static std::unique_ptr<BulkReads> make(ibv_context& context, const Domains& domains, ibv_comp_channel& channel,
                                         const PortPlace& place, ConnectionPath& path, const BulkLimits& limits);
  ~BulkReads() override;

  bool reachable(PeerIndex peer) override;
  std::uint64_t longest_read() const override { return kLongestRead; }
  bool expose(const void* address, std::size_t length, MemoryKey& key) override;
  void withdraw(const MemoryKey& key) override;
  bool leads_to(PeerIndex peer, const MemoryKey& key) override;
  Begin begin_read(PeerIndex peer, std::uint64_t remote_address, const MemoryKey& key, void* local, std::size_t length,
                   std::uint64_t token, const MemoryRange& around) override;
  void stop_reads(PeerIndex peer) override;
  std::size_t take_endings(std::span<Ending> endings) override;

  // Called by the transport: when a connection message has arrived; when a peer has a new address; before it sleeps
  // (false: there is something to do first); and now and then.
  void message_arrived(PeerIndex peer, const ConnectionMessage& message);
  void peer_changed(PeerIndex peer);
  bool arm();
  void look_around() {
    cache_.settle();
    destruction_.go_on();
  }
  // The port's table has the partition at another place.
  void use_partition(std::uint16_t index) { setting_.place.partition_index = index; }
  // The adapter has failed: all reads end, and no peer is reachable.
  void give_up();
  ibv_cq* completions() const { return completions_.get(); }

  const BulkCounters& counters() const { return counters_; }
  const RegistrationCache& registrations() const { return cache_; }
  // For people: how long memory stays registered, and why.
  const std::string& registration_text() const { return registration_text_; }
  ibv_qp* queue_pair_to(PeerIndex peer) const;  // for tests to look at, or to break; null: not connected

 private:
  static constexpr std::uint64_t kLongestRead = 32u << 20;
  static constexpr std::uint32_t kMostReads = 256;          // begun and not ended
  static constexpr std::uint32_t kReadsPerConnection = 16;  // the same
  static constexpr std::uint32_t kPiecesAtATime = 16;       // of a connection
  static constexpr std::uint64_t kPiece = 2u << 20;         // bytes
  static constexpr std::uint32_t kSoftPiecesAtATime = 2;    // of soft-RoCE; four are no faster
  static constexpr std::uint32_t kSoftPacketsOfPiece = 256;
  static constexpr std::uint32_t kLooksBetweenTimers = 1024;
  static_assert(kSoftPiecesAtATime * kSoftPacketsOfPiece < 1000);
  static_assert(kPiecesAtATime * kPiece >= kLongestRead);

  struct AdapterRegistrar final : Registrar {
    AdapterRegistrar(ibv_context& context, ibv_pd& of, OnDemandPaging paging);
    Outcome add(std::uint64_t begin, std::uint64_t end, bool writable, Region& region) override;
    void remove(const Region& region) override;
    bool whole_memory(std::uint64_t begin, std::uint64_t end, bool writable, Region& region) override;
    ibv_pd& domain;
    bool pages = false;  // the adapter has a region of all memory, if it does not refuse
    MemoryRegion whole;  // made when it is needed first: its key opens all memory
  };

  struct Connection {
    enum class State : std::uint8_t { asked, ready, stopping };
    PeerIndex peer = kUnknownPeer;
    std::uint64_t number = 0;  // random: the peer may remember earlier ones
    State state = State::asked;
    std::unique_ptr<ReliableQueuePair> queue_pair;
    std::uint64_t piece = 0;            // bytes at most
    std::uint32_t reads = 0;            // begun and not ended
    std::uint32_t posted = 0;           // pieces that the adapter has
    std::deque<std::uint32_t> waiting;  // reads that are not fully posted, in order
    std::uint64_t last_use = 0;         // the value of uses_ at its last use
    std::uint64_t deadline = 0;         // of asking, stopping or the next ending, milliseconds
    std::uint64_t ask_again = 0;        // milliseconds
  };

  struct FailureRecord {
    std::uint32_t failures = 0;    // connections since the last read that went well
    std::uint64_t not_before = 0;  // milliseconds
  };

  struct Read {
    std::uint64_t token = 0;
    RegistrationCache::Entry* entry = nullptr;  // null: this slot is free
    std::uint64_t local_address = 0;
    std::uint64_t length = 0;
    std::uint64_t remote_address = 0;
    std::uint32_t remote_key = 0;
    std::uint32_t generation = 0;
    std::uint32_t pieces = 0;  // posted and not done
    std::uint64_t begun = 0;   // bytes in all pieces so far
    bool failed = false;       // ends when the adapter has completed all its pieces
    Connection* connection = nullptr;
  };

  BulkReads(ibv_context& context, const Domains& domains, ConnectionPath& path, const BulkLimits& limits);
  bool open(ibv_context& context, ibv_comp_channel& channel, const PortPlace& place);

  // bulk_reads.cc
  RegistrationCache::Entry* acquire_for_read(void* local, std::size_t length, const MemoryRange& around);
  void post_pieces(Connection& connection);
  bool post_piece(Connection& connection, std::uint32_t number);
  void piece_done(Read& read, bool good);
  void end(Read& read);
  bool read_again(Read& read);
  void poll();

  // bulk_read_connections.cc
  Connection* find(PeerIndex peer) const;
  Connection* connect(PeerIndex peer);  // null: the adapter has no room
  bool close_idle_one();
  void say(const Connection& connection, ConnectionMessage::Kind kind);
  void accepted(Connection& connection, const ConnectionMessage& message);
  void refused(Connection& connection);
  void record_failure(PeerIndex peer);
  void stop(Connection& connection);
  void remove_if_stopped(Connection& connection);
  void remove(Connection& connection);
  void set_state(Connection& connection, Connection::State state);
  void expect_ending(Connection& connection);
  void keep_time();
  FailureRecord& failure_record_of(PeerIndex peer);

  const Domains& domains_;
  AdapterRegistrar registrar_;
  std::string registration_text_;
  std::shared_ptr<MemoryMonitor> monitor_;
  ConnectionPath& path_;
  BulkLimits limits_;
  ReliableSetting setting_;
  std::uint64_t longest_piece_ = 0;
  bool software_ = false;  // the adapter is
  RegistrationCache cache_;
  CompletionQueue completions_;
  std::vector<Read> reads_;
  std::vector<std::uint32_t> free_reads_;
  std::deque<Ending> endings_;
  SlowDestruction destruction_;  // of all queue pairs, before the queue and the memory
  std::vector<std::unique_ptr<Connection>> connections_;
  std::uint32_t looks_ = 0;      // while reads were posted, since the timers were looked at
  std::uint32_t unsettled_ = 0;  // connections that are not ready and so have deadlines
  std::uint32_t posted_ = 0;
  std::vector<FailureRecord> failure_records_;  // by peer, as far as needed
  std::uint64_t uses_ = 0;
  bool given_up_ = false;
  ServedConnections served_;
  BulkCounters counters_;
};

}  // namespace openlapi::verbs
